"""Describes the current state of a mesh for the task's page and the API (docs/reference/http.md)."""

from __future__ import annotations

from typing import Any

from backend.protocols.mesh.byzantine.membership import SeatedMember
from backend.protocols.mesh.byzantine.state import AgreedState, WorkCase
from backend.protocols.mesh.byzantine.state_observer import StateObserver
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.mesh_round import MeshRound
from backend.server.mesh.peer_list import Peer, Peers
from backend.wire.mesh_messages import Group


def picture(
    peers: Peers, machine: MeshCoordinator, carried: int, observer: StateObserver | None
) -> dict[str, Any]:
    """Returns peers, links, the groups of the open round, and what a Byzantine mesh agreed on last.

    `carried` is the number of relayed bytes, `observer` None for other meshes.
    """
    mesh_round = machine.open
    return {
        "epoch": peers.epoch,
        "round": machine.round,
        "weights": machine.holdings.newest,
        "carried": carried,
        "peers": [_peer(peer, machine) for peer in peers.by_id.values()],
        "links": _links(peers),
        "groups": [_group(group, mesh_round) for group in mesh_round.groups] if mesh_round else [],
        "state": _state(observer) if observer else None,
    }


def _state(observer: StateObserver) -> dict[str, Any] | None:
    state = observer.newest
    if state is None:
        return None
    membership = state.membership
    return {
        "round": state.round,
        "radius": state.radius or None,
        "seats": [_seat(seat, state) for seat in membership.seats],
        "newcomers": [
            {"client": one.client, "rounds": one.rounds, "audits": len(one.audits)}
            for one in membership.newcomers
        ],
        "banned": [identity.hex() for identity in membership.banned],
        "court": [_case(case) for case in state.court],
        "doubtful": [_case(case) for case in state.doubtful],
        "suspected": [_case(case) for case in state.suspected],
        "validating": [_case(case) for case in observer.validations()],
    }


def _seat(seat: SeatedMember, state: AgreedState) -> dict[str, Any]:
    unable = {one.client: one.checks_from for one in state.unable}
    return {
        "client": seat.client,
        "absences": list(seat.absences),
        "rests_until": seat.returns if seat.rests(state.round + 1) else None,
        "checks_from": unable.get(seat.client),
    }


def _case(case: WorkCase) -> dict[str, Any]:
    return {
        "target": case.target,
        "round": case.round,
        "validator": case.validator or None,
        "second": case.second or None,
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
