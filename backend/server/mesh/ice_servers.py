"""Lists the STUN and TURN servers that peers use, with their passwords."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, field

from backend.wire.mesh_messages import IceServer

# Lifetime of a password made for one peer: a day, longer than a session.
PASSWORD_SECONDS = 86_400


@dataclass(frozen=True)
class IceServers:
    """Addresses such as `stun:stun.example.org:3478` and `turn:turn.example.org:3478?transport=udp`.

    Peers use TURN servers with `username` and `credential`; with a `secret` each peer gets its own password
    instead, for coturn's `use-auth-secret` (draft-uberti-behave-turn-rest).
    """

    urls: tuple[str, ...] = ()
    username: str = ""
    credential: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)

    def servers(self, client: str, now: float) -> list[IceServer]:
        """Returns the servers and passwords for the peer `client` at `now` (Unix seconds)."""
        stun = [url for url in self.urls if url.startswith("stun")]
        turn = [url for url in self.urls if url.startswith("turn")]
        servers = [IceServer(urls=stun, username="", credential="")] if stun else []
        if turn:
            username, credential = self._password(client, now)
            servers.append(IceServer(urls=turn, username=username, credential=credential))
        return servers

    def _password(self, client: str, now: float) -> tuple[str, str]:
        if not self.secret:
            return self.username, self.credential
        username = f"{int(now) + PASSWORD_SECONDS}:{client}"
        digest = hmac.new(self.secret.encode(), username.encode(), hashlib.sha1).digest()
        return username, base64.b64encode(digest).decode()


NO_ICE = IceServers()
