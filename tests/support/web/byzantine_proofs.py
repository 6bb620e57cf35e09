"""States that members of a Byzantine mesh prove to its server, signed by peers with real sockets."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from backend.crypto.client_keys import identity_key
from backend.crypto.statements import NOTHING_BEFORE, TurnOfRound, say
from backend.protocols.mesh.byzantine.adoption import encode_state
from backend.protocols.mesh.byzantine.first_state import first_state
from backend.protocols.mesh.byzantine.roles import basis_of
from backend.wire.byzantine_bodies import VerdictBody, encode_body
from backend.wire.byzantine_messages import Said, TellState
from backend.wire.mesh_messages import Group
from tests.support.web.mesh_client import MeshPeer, address_of


def first_proof(
    peers: Sequence[MeshPeer], order: Group, weights: bytes, signers: Sequence[MeshPeer]
) -> TellState:
    """Returns what tells that `peers`, the founders, made `weights` in their first group."""
    entered = peers[0].entered
    rules = entered.byzantine
    assert rules is not None
    founders = {peer.id: identity_key(peer.private) for peer in peers}
    before = first_state(rules, bytes.fromhex(entered.weights), founders)
    state = replace(before, round=1, weights=bytes.fromhex(address_of(weights)), before=before.digest())
    active = sorted(founders)
    attempt = (order.round, order.group)
    turn = TurnOfRound(entered.task, rules.run, 1, 1, basis_of(before, attempt, active))
    body = encode_body(VerdictBody(state.digest()))
    said = [say(peer.private, turn, "verdict", NOTHING_BEFORE, body) for peer in signers]
    return TellState(
        state=encode_state(state),
        attempt=attempt,
        turn=1,
        active=active,
        verdicts=[Said(one.identity, one.phase, one.before, one.body, one.signature) for one in said],
    )
