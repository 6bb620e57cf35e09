"""Rejects peers whose identity changed, is not on the list, or is banned: they get no link."""

from __future__ import annotations

from collections.abc import Collection

from backend.peer.links.interfaces import Listener, TrustedIdentities
from backend.wire.mesh_messages import Neighbour


class RejectedPeers:
    """Checks identities against the trusted ones; reports each rejected peer once."""

    def __init__(self, trusted: TrustedIdentities, listener: Listener) -> None:
        self._trusted = trusted
        self._listener = listener
        self._refused: set[tuple[str, bytes]] = set()
        self._banned: set[bytes] = set()

    def ban(self, identities: Collection[bytes]) -> None:
        """Bans these Ed25519 keys until the end of the session."""
        self._banned.update(identities)

    def is_banned(self, neighbour: Neighbour) -> bool:
        """Whether the peer's key is banned."""
        return neighbour.identity in self._banned

    def is_rejected(self, neighbour: Neighbour) -> bool:
        """Whether the peer has another identity than before, or one that is not on the list."""
        client, identity = neighbour.client, neighbour.identity
        if not self._trusted.is_untrusted(client, identity.hex()):
            return False
        if (client, identity) not in self._refused:
            self._refused.add((client, identity))
            self._listener.refused(
                client,
                f"Peer {client} has a different identity than before, or is not on your list; it gets no "
                f"link.",
            )
        return True

    def remember(self, neighbour: Neighbour) -> None:
        """Remembers the identity of a peer to which there is a link."""
        self._trusted.remember({neighbour.client: neighbour.identity.hex()})
