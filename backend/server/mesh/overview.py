"""A mesh as it is now, for the picture on its task's page and for programs (docs/reference/http.md)."""

from __future__ import annotations

from typing import Any

from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.mesh_round import MeshRound
from backend.server.mesh.peer_list import Peer, Peers
from backend.wire.mesh_messages import Group


def picture(peers: Peers, machine: MeshCoordinator, carried: int) -> dict[str, Any]:
    """Peers, links and the groups of the open round; `carried` bytes went from peer to peer by the server."""
    convened = machine.open
    return {
        "epoch": peers.epoch,
        "round": machine.round,
        "weights": machine.holdings.newest,
        "carried": carried,
        "peers": [_peer(one, machine) for one in peers.here.values()],
        "links": _links(peers),
        "groups": [_group(group, convened) for group in convened.groups] if convened else [],
    }


def _peer(peer: Peer, machine: MeshCoordinator) -> dict[str, Any]:
    return {
        "client": peer.client.id,
        "kind": peer.client.kind,
        "backend": peer.client.backend,
        "ways": peer.ways,
        "status": machine.status(peer.client.id),
        "round": peer.round,
        "holds": peer.holds,
    }


def _links(peers: Peers) -> list[dict[str, Any]]:
    """Each pair once, smaller id first: the slower of what both ends tell."""
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for one in peers.here.values():
        for told in one.measures:
            if told.client not in peers.here or told.client == one.client.id:
                continue
            ends = min(one.client.id, told.client), max(one.client.id, told.client)
            link = links.setdefault(
                ends, {"ends": list(ends), "way": told.way, "seconds": told.seconds, "rate": told.rate}
            )
            link["seconds"] = max(link["seconds"], told.seconds)
            link["rate"] = min(link["rate"] or told.rate, told.rate or link["rate"])
    return list(links.values())


def _group(group: Group, convened: MeshRound) -> dict[str, Any]:
    members = {client: convened.members[client] for client in group.members}
    reports = [one.averaged for one in members.values() if one.averaged is not None]
    return {
        "round": group.round,
        "group": group.group,
        "exchange": group.exchange,
        "precision": group.precision,
        "subject": group.subject,
        "reducer": group.reducer,
        "members": group.members,
        "standings": {client: one.standing for client, one in members.items()},
        "weights": sorted({one.weights for one in reports}),
        "fraction": reports[0].fraction if reports else None,
        "seconds": max((one.seconds for one in reports), default=None),
    }
