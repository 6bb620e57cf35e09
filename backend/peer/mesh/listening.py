"""Says where a peer of a mesh accepts WebSockets, and whether others connect there."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from backend.errors import PeerError
from backend.formats.network_address import Reach, is_allowed, is_ip


@dataclass(frozen=True)
class Listening:
    """Where this peer accepts WebSockets; `address` is how others reach it, if not by host and port."""

    host: str
    port: int
    address: str | None = None

    def check(self, reach: Reach) -> None:
        """Raises PeerError if other peers refuse to connect here; of a name only they can say."""
        host = urlsplit(self.address).hostname or "" if self.address else self.host
        if is_ip(host) and not is_allowed(host, reach):
            raise PeerError(
                f"Others of this task do not connect to {host}: it is not a public address. Give one with "
                f"--address, leave --listen out, or ask the task's owner for lan = true in "
                "[coordination.averaging]."
            )
