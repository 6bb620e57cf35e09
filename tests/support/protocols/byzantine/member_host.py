"""The host of one member in a simulated Byzantine mesh: it signs what its machine says, and checks the rest.

Signatures are hashes of a key that only its owner has, since true ones cost a thousand times as much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from backend.crypto import client_keys
from backend.crypto.statements import (
    SignedStatement,
    Statement,
    TurnOfRound,
    is_relayed,
    is_said,
    relay,
    signed,
)
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.evidence.evidence_turn import turn_said
from backend.protocols.mesh.byzantine.machine import ByzantineRound
from backend.protocols.mesh.byzantine.round_events import StatementReceived
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.ban_evidence import TurnSaid
from backend.wire.byzantine_messages import Said


@contextmanager
def hashed_keys() -> Iterator[None]:
    """Lets hashes take the place of Ed25519: nobody but the world can sign for another."""
    secrets_of: dict[bytes, bytes] = {}

    def identity_key(private: bytes) -> bytes:
        identity = hashlib.sha256(b"identity" + private).digest()
        secrets_of[identity] = private
        return identity

    def sign(private: bytes, message: bytes) -> bytes:
        return hashlib.sha256(private + message).digest()

    def verify(identity: bytes, signature: bytes, message: bytes) -> bool:
        return identity in secrets_of and sign(secrets_of[identity], message) == signature

    with (
        patch.object(client_keys, "identity_key", identity_key),
        patch.object(client_keys, "sign", sign),
        patch.object(client_keys, "verify", verify),
    ):
        yield


@dataclass(frozen=True)
class Spoken:
    """The frame `say`: a statement in turn number `turn`.

    `passed_on` are identities and signatures of members that passed it on.
    """

    turn: int
    statement: SignedStatement
    passed_on: tuple[tuple[bytes, bytes], ...] = ()


@dataclass
class Host:
    """A member's process: its keys, the signatures that it knows, its machine, bytes and judgements."""

    client: str
    private: bytes
    machine: ByzantineRound | None = None
    state: AgreedState | None = None
    held: dict[bytes, Vector] = field(default_factory=dict)
    result: AgreedState | bytes | None = None
    failure: str | None = None
    removed: dict[str, str] = field(default_factory=dict)
    paused_until: float = 0.0
    # What came before its round began, and statements of turns that it has not reached yet.
    waiting: list[Any] = field(default_factory=list)
    later: list[Spoken] = field(default_factory=list)
    # By digest: a statement as it was signed, and who passed it on, by identity.
    known: dict[bytes, tuple[SignedStatement, dict[bytes, bytes]]] = field(default_factory=dict)
    # Who takes part in the turn, what convicts those who were removed, and what was said in finished rounds.
    active: tuple[str, ...] = ()
    convicting: dict[str, TurnSaid] = field(default_factory=dict)
    records: list[TurnSaid] = field(default_factory=list)

    @property
    def turn(self) -> TurnOfRound:
        """What its machine's statements are bound to now."""
        assert self.machine is not None
        return self.machine.turn.turn

    def signed(self, turn: TurnOfRound, statements: Iterable[Statement]) -> TurnSaid:
        """Returns statements of a turn with their signatures."""
        assert self.state is not None
        found = [self.known[one.digest(turn)][0] for one in statements]
        said = [Said(one.identity, one.phase, one.before, one.body, one.signature) for one in found]
        return turn_said(self.state, (turn.round, 1), turn.turn, self.active, said)

    def says(self, turn: TurnOfRound, statement: Statement) -> Spoken:
        """Signs a statement of this member."""
        said = signed(self.private, turn, statement)
        self.known[statement.digest(turn)] = (said, {})
        return Spoken(turn.turn, said)

    def passes_on(self, turn: TurnOfRound, statement: Statement) -> Spoken:
        """Signs a known statement of another member, too."""
        said, signatures = self.known[statement.digest(turn)]
        own = client_keys.identity_key(self.private)
        signatures.setdefault(own, relay(self.private, turn, statement))
        return Spoken(turn.turn, said, tuple(signatures.items()))

    def checked(self, spoken: Spoken) -> StatementReceived | None:
        """Returns the event of a frame, if it is truly said in the turn of the machine.

        One of a later turn waits.
        """
        if spoken.turn > self.turn.turn:
            self.later.append(spoken)
        if spoken.turn != self.turn.turn or not is_said(self.turn, spoken.statement):
            return None
        statement = spoken.statement.unsigned()
        _, signatures = self.known.setdefault(statement.digest(self.turn), (spoken.statement, {}))
        for identity, signature in spoken.passed_on:
            if identity not in signatures and is_relayed(self.turn, statement, identity, signature):
                signatures[identity] = signature
        return StatementReceived(statement, tuple(signatures))
