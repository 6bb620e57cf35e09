"""Describes the current state of a mesh for the task's page and the API (docs/reference/http.md)."""

from __future__ import annotations

from typing import Any

from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.mesh_round import MeshRound
from backend.server.mesh.peer_list import Peer, Peers
from backend.wire.mesh_messages import Group


def picture(peers: Peers, machine: MeshCoordinator, carried: int) -> dict[str, Any]:
    """Returns peers, links and the groups of the open round; `carried` is the number of relayed bytes."""
    mesh_round = machine.open
    return {
        "epoch": peers.epoch,
        "round": machine.round,
        "weights": machine.holdings.newest,
        "carried": carried,
        "peers": [_peer(peer, machine) for peer in peers.by_id.values()],
        "links": _links(peers),
        "groups": [_group(group, mesh_round) for group in mesh_round.groups] if mesh_round else [],
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
    """Returns each linked pair once, smaller id first, with the slower values of both ends."""
    links: dict[tuple[str, str], dict[str, Any]] = {}
    for peer in peers.by_id.values():
        for measure in peer.measures:
            if measure.client not in peers.by_id or measure.client == peer.client.id:
                continue
            ends = min(peer.client.id, measure.client), max(peer.client.id, measure.client)
            link = links.setdefault(
                ends,
                {"ends": list(ends), "way": measure.way, "seconds": measure.seconds, "rate": measure.rate},
            )
            link["seconds"] = max(link["seconds"], measure.seconds)
            link["rate"] = min(link["rate"] or measure.rate, measure.rate or link["rate"])
    return list(links.values())


def _group(group: Group, mesh_round: MeshRound) -> dict[str, Any]:
    members = {client: mesh_round.members[client] for client in group.members}
    reports = [member.averaged for member in members.values() if member.averaged is not None]
    return {
        "round": group.round,
        "group": group.group,
        "exchange": group.exchange,
        "precision": group.precision,
        "subject": group.subject,
        "reducer": group.reducer,
        "members": group.members,
        "standings": {client: member.standing for client, member in members.items()},
        "weights": sorted({report.weights for report in reports}),
        "fraction": reports[0].fraction if reports else None,
        "seconds": max((report.seconds for report in reports), default=None),
    }
