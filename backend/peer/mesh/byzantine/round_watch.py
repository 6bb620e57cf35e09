"""A round as a member without a part in it sees it: who of those with one has no result.

The browser's twin is webapp/static/src/client/mesh/byzantine/round-watch.ts.
"""

from __future__ import annotations

from collections.abc import Collection

from backend.peer.mesh.early_frames import GroupKey
from backend.wire.mesh_messages import Group


class RoundWatch:
    """Watches the attempt `order`, in which the clients `seated` take part. Owned by the averager."""

    def __init__(self, order: Group, seated: Collection[str]) -> None:
        self.key: GroupKey = (order.round, order.group)
        self._seated = frozenset(seated)
        self._failed = set[str]()

    def failed(self, client: str) -> None:
        """Takes that a client has no result."""
        self._failed.add(client)

    @property
    def is_lost(self) -> bool:
        """Whether half of them or more have no result: then nobody has one."""
        return 2 * len(self._seated - self._failed) <= len(self._seated)
