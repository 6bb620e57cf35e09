"""Reads the signed statements of a turn that evidence contains, and what they are bound to."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from backend.crypto.statements import SignedStatement, TurnOfRound, is_said
from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.roles import TurnRoles, basis_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import TurnLog, TurnPhase
from backend.protocols.mesh.byzantine.turn_statements import TurnStatements
from backend.wire.ban_evidence import BanEvidence, TurnSaid
from backend.wire.byzantine_bodies import CommitBody
from backend.wire.byzantine_messages import Said

_decoder: msgspec.msgpack.Decoder[AgreedState] = msgspec.msgpack.Decoder(AgreedState)


@dataclass(frozen=True)
class EvidenceTurn:
    """A turn of the round after `state`, with statements that are truly signed, each by an active member."""

    state: AgreedState
    seated: tuple[str, ...]
    active: tuple[str, ...]
    log: TurnLog

    def is_majority(self, count: int) -> bool:
        """Whether so many are more than half of all seated."""
        return 2 * count > len(self.seated)

    def statements(self) -> TurnStatements:
        """Returns the statements with the roles that all `commit` statements imply.

        Who works commits to a piece for each worker, and a validator to none. Raises EvidenceError where
        they contradict each other, or one lacks.
        """
        said = self.log.said(TurnPhase.COMMIT)
        pieces = {client: body.pieces for client, body in said.items() if isinstance(body, CommitBody)}
        workers = tuple(client for client in self.active if pieces.get(client))
        found = TurnStatements(self.log, TurnRoles(self.seated, self.active, workers, {}))
        if lacking := found.lacking(TurnPhase.COMMIT):
            raise EvidenceError(
                f"What {lacking[0]} committed to is missing, or has another number of pieces."
            )
        return found

    def count(self) -> int:
        """Returns how many statements there are."""
        return sum(1 for _ in self.log.statements())


def read_state(data: bytes) -> AgreedState:
    """Returns the state that these bytes encode. Raises EvidenceError for others."""
    try:
        state = _decoder.decode(data)
        state.digest()
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError, ValueError) as error:
        raise EvidenceError("The state in it is none.") from error
    if msgspec.msgpack.encode(state) != data:
        raise EvidenceError("The state in it is not written as Minga writes it.")
    if not 0.0 <= state.radius < math.inf:
        raise EvidenceError("The state in it has an impossible radius.")
    return state


def read_turn(evidence: BanEvidence, said: TurnSaid) -> EvidenceTurn:
    """Returns a turn of the evidence. Raises EvidenceError for a statement that nobody made in this turn."""
    state = read_state(said.state)
    seated = state.membership.present(state.round + 1)
    active = tuple(one for one in seated if one in said.active)
    if active != tuple(said.active):
        raise EvidenceError("Who took part in the turn had no seat in it.")
    basis = basis_of(state, said.attempt, active)
    turn = TurnOfRound(evidence.task, evidence.run, state.round + 1, said.turn, basis)
    identities = state.membership.identities()
    log = TurnLog(turn, {client: identities[client] for client in active})
    clients = {identities[client]: client for client in active}
    for one in said.said:
        client = clients.get(one.identity)
        if client is None:
            raise EvidenceError(f"A statement is by {one.identity.hex()}, who took no part in the turn.")
        statement = SignedStatement(one.identity, one.phase, one.before, one.body, one.signature)
        if not is_said(turn, statement):
            raise EvidenceError(f"{client} did not sign the statement '{one.phase}' in this turn.")
        if log.add(statement.unsigned()) is None:
            raise EvidenceError(f"The statement '{one.phase}' of {client} is there twice, or malformed.")
    return EvidenceTurn(state, seated, active, log)


def turn_said(
    state: AgreedState, attempt: tuple[int, int], turn: int, active: tuple[str, ...], said: Sequence[Said]
) -> TurnSaid:
    """Returns what was said in turn number `turn` of the round after `state`, as evidence has it.

    Without what others said: a member that was removed may sign statements of later turns.
    """
    identities = state.membership.identities()
    taking_part = {identities[client] for client in active}
    kept = [one for one in said if one.identity in taking_part]
    return TurnSaid(msgspec.msgpack.encode(state), attempt, turn, list(active), kept)


def by_digest(contents: list[bytes]) -> dict[bytes, bytes]:
    """Returns bytes by their SHA-256."""
    return {hashlib.sha256(one).digest(): one for one in contents}
