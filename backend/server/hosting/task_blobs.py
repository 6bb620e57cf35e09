"""Which blobs belong to one task, and how much of them was fetched."""

from __future__ import annotations

from collections.abc import Callable

from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory


class TaskBlobs:
    """Owned by a task's host. `more` says of an address, that of no file and no record, whether it belongs to
    the task all the same."""

    def __init__(
        self, task: Task, history: VersionHistory, more: Callable[[str], bool] = lambda _: False
    ) -> None:
        self._parts = task.addresses()
        self._history = history
        self._more = more
        # Bytes fetched since the start.
        self.bytes = 0

    def has(self, address: str) -> bool:
        """Whether the blob belongs to the task."""
        return address in self._parts or address in self._history.addresses or self._more(address)

    def fetched(self, address: str, count: int) -> bool:
        """Somebody fetches so many bytes of a blob; whether it belongs to the task."""
        mine = self.has(address)
        if mine:
            self.bytes += count
        return mine
