"""Peers that are not who they were, or not on the list: they get no link."""

from __future__ import annotations

from backend.peer.links.interfaces import Listener, TrustedIdentities
from backend.wire.mesh_messages import Neighbour


class Strangers:
    """Says of each such peer once that it is refused."""

    def __init__(self, known: TrustedIdentities, listener: Listener) -> None:
        self._known = known
        self._listener = listener
        self._refused: set[tuple[str, bytes]] = set()

    def is_one(self, neighbour: Neighbour) -> bool:
        """Whether it has another identity than before, or one that is not on the list."""
        client, identity = neighbour.client, neighbour.identity
        if not self._known.is_strange(client, identity.hex()):
            return False
        if (client, identity) not in self._refused:
            self._refused.add((client, identity))
            self._listener.refused(
                client,
                f"Peer {client} has another identity than before, or one that is not on your list; "
                "it gets no link.",
            )
        return True

    def met(self, neighbour: Neighbour) -> None:
        """There is a link: its identity is known from now on."""
        self._known.met({neighbour.client: neighbour.identity.hex()})
