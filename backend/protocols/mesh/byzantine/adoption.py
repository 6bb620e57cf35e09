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
) -> tuple[AgreedState, TellState] | None:
    """Returns the newest state that this member can believe, with the frame that told it.

    `told` are frames by client, `identities` the keys that links to these clients proved. `rules` is the
    digest of this member's rules, and `wanted` that of a state which it knows to be agreed. A state follows
    from the `own` one by signatures of more than half; one farther ahead counts if more than half of those
    with a seat in it tell it: to somebody who was away, and to a newcomer.
    """
    found: tuple[AgreedState, TellState] | None = None
    tellers: dict[bytes, set[str]] = defaultdict(set)
    states = {client: state for client, frame in told.items() if (state := told_state(frame)) is not None}
    for client, state in states.items():
        seats = {seat.client: seat.identity for seat in state.membership.seats}
        if client in seats and seats[client] == identities.get(client):
            tellers[state.digest()].add(client)
    newest = own.round if own else -1
    for client, state in sorted(states.items()):
        digest = state.digest()
        is_most = 2 * len(tellers[digest]) > len(state.membership.seats)
        follows = own is not None and is_proven(task, run, own, state, told[client])
        if state.rules == rules and state.round > newest and (digest == wanted or follows or is_most):
            found, newest = (state, told[client]), state.round
    return found


def _is_verdict(turn: TurnOfRound, said: Said, state: bytes) -> bool:
    body = decode_body(said.body)
    if said.phase != TurnPhase.VERDICT or not isinstance(body, VerdictBody) or body.state != state:
        return False
    signed = SignedStatement(said.identity, said.phase, said.before, said.body, said.signature)
    return is_said(turn, signed)
