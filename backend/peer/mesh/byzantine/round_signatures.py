"""Signs a member's statements, and checks those that arrive; the machine sees only true ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from backend.crypto.client_keys import identity_key
from backend.crypto.statements import (
    SignedStatement,
    Statement,
    TurnOfRound,
    is_relayed,
    is_said,
    relay,
    signed,
)
from backend.wire.byzantine_messages import PassedOn, Said, Say

# Statements of later turns that a link may bring before this peer gets there.
MOST_EARLY = 64
# What one member's statements of a turn may take: the honest say a few in each phase and exchange.
MOST_SAID_BYTES = 512 * 1024


class RoundSignatures:
    """Owns the signatures of one attempt at a round, by the member with the private key `key`."""

    def __init__(self, key: bytes, attempt: tuple[int, int]) -> None:
        self.identity = identity_key(key)
        self._key = key
        self._attempt = attempt
        self._said: dict[bytes, bytes] = {}
        self._passed_on: dict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        self._bytes: dict[tuple[int, bytes], int] = defaultdict(int)
        self._early: dict[str, list[Say]] = defaultdict(list)

    def say(self, turn: TurnOfRound, statement: Statement) -> Say:
        """Returns the frame of an own statement."""
        signature = signed(self._key, turn, statement).signature
        self._said[statement.digest(turn)] = signature
        return self._frame(turn, statement, [])

    def pass_on(self, turn: TurnOfRound, statement: Statement) -> Say:
        """Returns the frame of another member's statement, with all signatures known, and this member's."""
        passed_on = self._passed_on[statement.digest(turn)]
        if self.identity not in passed_on:
            passed_on[self.identity] = relay(self._key, turn, statement)
        return self._frame(turn, statement, [PassedOn(*one) for one in passed_on.items()])

    def received(self, turn: TurnOfRound, frame: Say) -> tuple[Statement, tuple[bytes, ...]] | None:
        """Returns a statement of `turn`, and who passed it on; None for one that its sender never said."""
        said = frame.said
        statement = Statement(said.identity, said.phase, said.before, said.body)
        digest = statement.digest(turn)
        if self._said.get(digest) != said.signature:
            whole = SignedStatement(said.identity, said.phase, said.before, said.body, said.signature)
            author = (turn.turn, said.identity)
            if digest in self._said or self._bytes[author] > MOST_SAID_BYTES or not is_said(turn, whole):
                return None
            self._bytes[author] += len(said.body)
            self._said[digest] = said.signature
        known = self._passed_on[digest]
        for one in frame.passed_on:
            if one.identity not in known and is_relayed(turn, statement, one.identity, one.signature):
                known[one.identity] = one.signature
        return statement, tuple(known)

    def keep_early(self, client: str, frame: Say) -> None:
        """Keeps a frame of a later turn, of each link a few."""
        if len(self._early[client]) < MOST_EARLY:
            self._early[client].append(frame)

    def take_early(self) -> list[tuple[str, Say]]:
        """Returns all early frames, and keeps them no longer."""
        early, self._early = self._early, defaultdict(list)
        return [(client, frame) for client, frames in early.items() for frame in frames]

    def signed(self, turn: TurnOfRound, statements: Iterable[Statement]) -> list[Said]:
        """Returns statements of a turn with their signatures, as evidence or proof."""
        found = []
        for one in statements:
            signature = self._said.get(one.digest(turn))
            if signature is not None:
                found.append(Said(one.identity, one.phase, one.before, one.body, signature))
        return found

    def _frame(self, turn: TurnOfRound, statement: Statement, passed_on: list[PassedOn]) -> Say:
        number, group = self._attempt
        (said,) = self.signed(turn, [statement])
        return Say(round=number, group=group, turn=turn.turn, said=said, passed_on=passed_on)
