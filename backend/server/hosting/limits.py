"""What a task takes from its clients."""

from __future__ import annotations

from dataclasses import dataclass

from backend.wire.codec import ENVELOPE_BYTES, MAX_CLIENT_FRAME


@dataclass(frozen=True)
class TaskLimits:
    """Each is a setting of the server; docs/reference/settings.md gives the reason of every default."""

    max_clients: int = 2000
    max_message_bytes: int = MAX_CLIENT_FRAME
    max_upload_bytes: int = 256 << 20
    stall_seconds: int = 20
    min_bytes_per_second: int = 4096
    relay_bytes_per_second: int = 4 << 20

    @property
    def chunk_bytes(self) -> int:
        """What a chunk holds, so that its message is no longer than may be."""
        return self.max_message_bytes - ENVELOPE_BYTES

    def seconds_for(self, size: int) -> float:
        """How long `size` bytes may take on their way, whoever sends or reads them."""
        return self.stall_seconds + size / self.min_bytes_per_second


USUAL = TaskLimits()
