"""Limits on what a task's clients may send."""

from __future__ import annotations

from dataclasses import dataclass

from backend.wire.codec import ENVELOPE_BYTES, MAX_CLIENT_FRAME


@dataclass(frozen=True)
class TaskLimits:
    """Limits of one task. Each is a server setting; docs/reference/settings.md explains its default."""

    max_clients: int = 2000
    max_message_bytes: int = MAX_CLIENT_FRAME
    max_upload_bytes: int = 256 << 20
    stall_seconds: int = 20
    min_bytes_per_second: int = 4096
    relay_bytes_per_second: int = 4 << 20

    @property
    def chunk_bytes(self) -> int:
        """Bytes of data in a chunk whose message has the maximum length."""
        return self.max_message_bytes - ENVELOPE_BYTES

    def seconds_for(self, size: int) -> float:
        """Returns the maximum transfer time of `size` bytes, in either direction."""
        return self.stall_seconds + size / self.min_bytes_per_second


USUAL = TaskLimits()
