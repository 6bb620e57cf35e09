"""Which state of others a member adopts: one that follows from its own, or that most of its seats tell."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from backend.crypto.statements import SignedStatement, TurnOfRound, is_said
from backend.protocols.mesh.byzantine.roles import basis_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.wire.byzantine_bodies import VerdictBody, decode_body
from backend.wire.byzantine_messages import Said, TellState

_decoder = msgspec.msgpack.Decoder(AgreedState)


def encode_state(state: AgreedState) -> bytes:
    """Returns the bytes of a state in `tell_state`."""
    return msgspec.msgpack.encode(state)


def told_state(frame: TellState) -> AgreedState | None:
    """Returns the state in a frame; None where the sender knows none, or sends something else."""
    try:
        return _decoder.decode(frame.state) if frame.state else None
    except msgspec.DecodeError:
        return None


def is_proven(task: str, run: str, own: AgreedState, state: AgreedState, frame: TellState) -> bool:
    """Whether more than half of the members with a seat in `own` signed `state` as the next one."""
    seated = own.membership.present(state.round)
    if state.round != own.round + 1 or state.before != own.digest() or not set(frame.active) <= set(seated):
        return False
    turn = TurnOfRound(task, run, state.round, frame.turn, basis_of(own, frame.attempt, frame.active))
    identities = own.membership.identities()
    waiting, digest = {identities[client] for client in frame.active}, state.digest()
    signed = 0
    for said in frame.verdicts:
        if said.identity in waiting and _is_verdict(turn, said, digest):
            waiting.remove(said.identity)
            signed += 1
    return 2 * signed > len(seated)


def adopted(
    task: str,
    run: str,
    rules: bytes,
    own: AgreedState | None,
    told: Mapping[str, TellState],
    identities: Mapping[str, bytes],
    wanted: bytes | None = None,
    client: str = "",
    electors: Mapping[str, bytes] | None = None,
) -> tuple[AgreedState, TellState] | None:
    """Returns the newest state that this member can believe, with the frame that told it.

    `told` are frames by client, `identities` the keys that links to these clients proved. `rules` is the
    digest of this member's rules, and `wanted` that of a state which it knows to be agreed. A state follows
    from the `own` one by signatures of more than half. One farther ahead counts if more than half of those
    with a seat in it tell it, and of the `electors` (identities by client; by default those with a seat in
    the own state): anybody can make up a state in which all seats are its own. A newcomer, which knows no
    state, has none. `client` is this member, which is not asked.
    """
    if electors is None:
        electors = _seats(own, client) if own else {}
    found: tuple[AgreedState, TellState] | None = None
    tellers: dict[bytes, set[str]] = defaultdict(set)
    states = {client: state for client, frame in told.items() if (state := told_state(frame)) is not None}
    for teller, state in states.items():
        tellers[state.digest()].add(teller)

    def is_told_by_most(digest: bytes, of: Mapping[str, bytes]) -> bool:
        count = sum(one in tellers[digest] and identities.get(one) == key for one, key in of.items())
        return 2 * count > len(of)

    newest = own.round if own else -1
    for teller, state in sorted(states.items()):
        digest = state.digest()
        is_most = is_told_by_most(digest, _seats(state, client)) and (
            not electors or is_told_by_most(digest, electors)
        )
        follows = own is not None and is_proven(task, run, own, state, told[teller])
        if state.rules == rules and state.round > newest and (digest == wanted or follows or is_most):
            found, newest = (state, told[teller]), state.round
    return found


def _seats(state: AgreedState, but: str) -> dict[str, bytes]:
    return {seat.client: seat.identity for seat in state.membership.seats if seat.client != but}


def _is_verdict(turn: TurnOfRound, said: Said, state: bytes) -> bool:
    body = decode_body(said.body)
    if said.phase != TurnPhase.VERDICT or not isinstance(body, VerdictBody) or body.state != state:
        return False
    signed = SignedStatement(said.identity, said.phase, said.before, said.body, said.signature)
    return is_said(turn, signed)
