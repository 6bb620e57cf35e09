"""What a task takes from its clients."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskLimits:
    """Each is a setting of the server; docs/reference/settings.md gives the reason of every default."""

    max_clients: int = 2000
    max_upload_bytes: int = 256 << 20
    stall_seconds: int = 20
    min_bytes_per_second: int = 4096

    def seconds_for(self, size: int) -> float:
        """How long `size` bytes may take on their way, whoever sends or reads them."""
        return self.stall_seconds + size / self.min_bytes_per_second


USUAL = TaskLimits()
