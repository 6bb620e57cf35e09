"""Lists the other peers of a mesh, and selects the ones to link with."""

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

# Beyond this number of others, a peer links only with those whose ids follow and precede its own around the
# circle, and with the members of its group. Each of them is linked with others, so that signals reach all.
MOST_LINKS = 32


class PeerDirectory:
    """Keeps the server's list of the other peers, and updates the links by it."""

    def __init__(self, links: LinkManager) -> None:
        self._links = links
        self._members: Mapping[str, Neighbour] = {}
        self._group: Collection[str] = ()

    def update(self, frame: ServerToPeer) -> None:
        """Takes the server's frames about other peers, and those it carries from them."""
        match frame:
            case Entered(ice=ice):
                self._links.use_ice(ice)
            case Members(members=members):
                self._members = {neighbour.client: neighbour for neighbour in members}
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
        """Returns the linked peers that report these weights."""
        return [
            client
            for client, neighbour in self._members.items()
            if neighbour.holds == weights and self._links.way(client) is not None
        ]

    def _update_targets(self) -> None:
        client = self._links.local.client
        self._links.set_targets({*link_targets(client, self._members), *self._group} - {client})


def link_targets(client: str, clients: Collection[str]) -> list[str]:
    """Returns the clients that the peer `client` links with in any group: all, if there are few.

    The relation is symmetric.
    """
    circle = sorted(set(clients) - {client})
    if len(circle) <= MOST_LINKS:
        return circle
    first = sum(other < client for other in circle)
    half = MOST_LINKS // 2
    return [circle[(first + step) % len(circle)] for step in range(-half, half)]
