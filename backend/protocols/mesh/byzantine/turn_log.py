"""The statements of one turn: who said what in which phase, and who said two things."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Set
from enum import StrEnum

from backend.crypto.round_context import fields
from backend.crypto.statements import Statement, TurnOfRound, coin_commitment, heard_digest
from backend.wire.byzantine_bodies import (
    Body,
    CallBody,
    CheckBody,
    CommitBody,
    MadeBody,
    RevealBody,
    ShownBody,
    VerdictBody,
    decode_body,
)


class TurnPhase(StrEnum):
    """The phases of a turn, in order. Members also `call` for an exchange, and say what they have `shown`."""

    COMMIT = "commit"
    MADE = "made"
    REVEAL = "reveal"
    CHECK = "check"
    VERDICT = "verdict"


PHASES = tuple(TurnPhase)
_BODIES: dict[str, type[Body]] = {
    TurnPhase.COMMIT: CommitBody,
    TurnPhase.MADE: MadeBody,
    TurnPhase.REVEAL: RevealBody,
    TurnPhase.CHECK: CheckBody,
    TurnPhase.VERDICT: VerdictBody,
    "call": CallBody,
    "shown": ShownBody,
}
# Exchanges of a turn are numbered: `call-2`.
_NUMBERED = ("call", "shown")
MOST_EXCHANGES = 64


def numbered(kind: str, number: int) -> str:
    """Returns the phase of a `call` or `shown` of exchange `number`."""
    return f"{kind}-{number}"


class TurnLog:
    """All that a member heard in the turn of `turn` from `clients`, with their identities.

    Owned by the member's machine.
    """

    def __init__(self, turn: TurnOfRound, clients: Mapping[str, bytes]) -> None:
        self.turn = turn
        self._client_of = {identity: client for client, identity in clients.items()}
        # By phase and client: what it said, and a second word, if there is one.
        self._said: dict[str, dict[str, list[tuple[Statement, Body]]]] = {}
        self._digests: dict[tuple[str, str], bytes] = {}
        # How many statements are here.
        self.size = 0
        # First words do not change, once all are there.
        self._heard: dict[tuple[TurnPhase, tuple[str, ...]], bytes] = {}

    def identities(self) -> dict[str, bytes]:
        """Returns the identity of each client that is heard."""
        return {client: identity for identity, client in self._client_of.items()}

    def add(self, statement: Statement) -> str | None:
        """Keeps a statement that the client truly said; returns its client if it is new and well-formed."""
        client = self._client_of.get(statement.identity)
        kind, _, number = statement.phase.partition("-")
        in_exchange = kind in _NUMBERED and number.isdecimal() and int(number) < MOST_EXCHANGES
        if client is None or not (in_exchange or statement.phase in PHASES):
            return None
        words = self._said.get(statement.phase, {}).get(client, [])
        if len(words) > 1 or any(_same(known, statement) for known, _ in words):
            return None
        body = decode_body(statement.body)
        if not isinstance(body, _BODIES[kind]):
            return None
        self._said.setdefault(statement.phase, {})[client] = [*words, (statement, body)]
        self.size += 1
        return client

    def knows(self, statement: Statement) -> bool:
        """Whether the statement is here already."""
        client = self._client_of.get(statement.identity, "")
        words = self._said.get(statement.phase, {}).get(client, [])
        return any(_same(known, statement) for known, _ in words)

    def statements(self) -> Iterator[Statement]:
        """Yields everything, in an order of its own."""
        for by_client in self._said.values():
            for words in by_client.values():
                yield from (statement for statement, _ in words)

    def two_words(self) -> dict[str, tuple[Statement, Statement]]:
        """Returns the evidence against each client that said two things in one phase."""
        return {
            client: (words[0][0], words[1][0])
            for by_client in self._said.values()
            for client, words in by_client.items()
            if len(words) > 1
        }

    def speakers(self, phase: str) -> Set[str]:
        """Returns the clients that said something in a phase."""
        return self._said.get(phase, {}).keys()

    def count(self, phase: str) -> int:
        """Returns how many first words `said` of a phase depends on: for coins commitments, too."""
        found = len(self.speakers(phase))
        return found + len(self.speakers(TurnPhase.COMMIT)) if phase == TurnPhase.REVEAL else found

    def said(self, phase: str) -> dict[str, Body]:
        """Returns what clients said in a phase, first words only; none of a false coin."""
        words = self._said.get(phase, {})
        found = {client: words[client][0][1] for client in sorted(words)}
        return self._true_coins(found) if phase == TurnPhase.REVEAL else found

    def all_said(self, phase: str) -> dict[str, list[Body]]:
        """Returns all words of each client in a phase."""
        found = self._said.get(phase, {})
        return {client: [body for _, body in words] for client, words in sorted(found.items())}

    def digest_of(self, phase: str, client: str) -> bytes:
        """Returns the digest of a client's statement. Raises KeyError if there is none."""
        if (phase, client) not in self._digests:
            self._digests[phase, client] = self.statement_of(phase, client).digest(self.turn)
        return self._digests[phase, client]

    def statement_of(self, phase: str, client: str) -> Statement:
        """Returns a client's statement. Raises KeyError if there is none."""
        return self._said[phase][client][0][0]

    def transcript(self, active: Collection[str]) -> bytes:
        """Returns the SHA-256 of all that the active clients said before the verdict."""
        digests = [
            self.digest_of(phase, client)
            for phase in PHASES[: PHASES.index(TurnPhase.VERDICT)]
            for client in sorted(active)
        ]
        return hashlib.sha256(fields(b"minga/mesh/1/said", *digests)).digest()

    def heard_before(self, phase: TurnPhase, active: tuple[str, ...]) -> bytes | None:
        """Returns what a statement of a phase follows: the SHA-256 of all that were said in the phase before.

        None in the first phase, and if an active client said nothing yet in the one before.
        """
        if phase is TurnPhase.COMMIT:
            return None
        before = PHASES[PHASES.index(phase) - 1]
        if (phase, active) not in self._heard and all(self._said.get(before, {}).get(one) for one in active):
            digests = (self.digest_of(before, client) for client in sorted(active))
            self._heard[phase, active] = heard_digest(digests)
        return self._heard.get((phase, active))

    def _true_coins(self, found: dict[str, Body]) -> dict[str, Body]:
        commits = self.said(TurnPhase.COMMIT)
        return {
            client: body
            for client, body in found.items()
            if isinstance(body, RevealBody)
            and isinstance(commit := commits.get(client), CommitBody)
            and coin_commitment(client, body.coin, body.salt) == commit.coin
        }


def _same(one: Statement, other: Statement) -> bool:
    return (one.before, one.body) == (other.before, other.body)
