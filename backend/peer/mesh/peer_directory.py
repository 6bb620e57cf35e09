"""Lists the other peers of a mesh, and chooses which of them to link with."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from backend.peer.links.links import LinkManager
from backend.wire.mesh_messages import (
    Entered,
    Group,
    Members,
    Neighbour,
    Relay,
    ServerToPeer,
    Signal,
    Unreachable,
)

# Beyond so many others a peer links with those whose ids come after its own and before it, around the circle,
# and with the members of its group: each of them is linked with others, so that signals get around.
MOST_LINKS = 32


class PeerDirectory:
    """The other peers, as the server lists them. Updates the links."""

    def __init__(self, links: LinkManager) -> None:
        self._links = links
        self._members: Mapping[str, Neighbour] = {}
        self._group: Collection[str] = ()

    def update(self, frame: ServerToPeer) -> None:
        """Hands introductions to the links."""
        match frame:
            case Entered(ice=ice):
                self._links.use_ice(ice)
            case Members(members=members):
                self._members = {one.client: one for one in members}
                self._links.set_neighbours(members)
                self._update_targets()
            case Group(members=group):
                self._group = group
                self._update_targets()
            case Signal(client=client, data=data):
                self._links.signalled(client, data)
            case Relay(client=client, data=data):
                self._links.relayed(client, data)
            case Unreachable(client=client):
                self._links.unreachable(client)

    def holders(self, weights: str) -> list[str]:
        """Linked peers that say they have these weights."""
        return [
            client
            for client, one in self._members.items()
            if one.holds == weights and self._links.way(client) is not None
        ]

    def _update_targets(self) -> None:
        client = self._links.local.client
        self._links.set_targets({*link_targets(client, self._members), *self._group} - {client})


def link_targets(client: str, clients: Collection[str]) -> list[str]:
    """With whom the peer `client` links whatever its group is: with everybody where there are few.

    If one of two links with the other, so does the other.
    """
    circle = sorted(set(clients) - {client})
    if len(circle) <= MOST_LINKS:
        return circle
    first = sum(other < client for other in circle)
    half = MOST_LINKS // 2
    return [circle[(first + step) % len(circle)] for step in range(-half, half)]
