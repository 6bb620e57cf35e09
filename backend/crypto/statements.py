"""What members of a Byzantine mesh say in a round: signed, and each bound to what its sender said before.

After Gorbunov et al. 2022, section 3: members must not be able to say different things to different others.
Two statements of one member about the same phase are evidence that anybody can check. The twin is
webapp/static/src/core/crypto/statements.ts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from backend.crypto import client_keys
from backend.crypto.round_context import fields, integer

COIN_BYTES = 32
# What the first statement of a turn follows.
NOTHING_BEFORE = bytes(32)


@dataclass(frozen=True)
class TurnOfRound:
    """One try at a round; `run` (SHA-256, hexadecimal) names the run of the task.

    `basis` (SHA-256) names the state that the round begins with, and who takes part in the turn.
    """

    task: str
    run: str
    round: int
    turn: int
    basis: bytes

    @cached_property
    def signed_first(self) -> bytes:
        """What all signed bytes of the turn begin with."""
        return fields(
            b"minga/mesh/1/statement",
            self.task.encode(),
            bytes.fromhex(self.run),
            integer(self.round),
            integer(self.turn),
            self.basis,
        )


@dataclass(frozen=True)
class Statement:
    """What one member says about one `phase`. `before` is the digest of all statements that it follows.

    `body` is encoded, and `identity` the sender's Ed25519 key.
    """

    identity: bytes
    phase: str
    before: bytes
    body: bytes

    def digest(self, turn: TurnOfRound) -> bytes:
        """Returns the SHA-256 of what is signed."""
        return hashlib.sha256(signed_bytes(turn, self)).digest()


@dataclass(frozen=True)
class SignedStatement(Statement):
    """A statement with its sender's signature, as it is sent and kept as evidence."""

    signature: bytes = b""

    def unsigned(self) -> Statement:
        """Returns the statement alone, as machines take it."""
        return Statement(self.identity, self.phase, self.before, self.body)


def signed_bytes(turn: TurnOfRound, statement: Statement) -> bytes:
    """Returns the bytes that a member signs."""
    return turn.signed_first + fields(
        statement.identity, statement.phase.encode(), statement.before, statement.body
    )


def relayed_bytes(turn: TurnOfRound, statement: Statement) -> bytes:
    """Returns the bytes that another member signs when it passes a statement on."""
    return fields(b"minga/mesh/1/relayed", statement.digest(turn))


def signed(private: bytes, turn: TurnOfRound, statement: Statement) -> SignedStatement:
    """Returns the statement, signed by its sender with its private Ed25519 key."""
    signature = client_keys.sign(private, signed_bytes(turn, statement))
    return SignedStatement(statement.identity, statement.phase, statement.before, statement.body, signature)


def say(private: bytes, turn: TurnOfRound, phase: str, before: bytes, body: bytes) -> SignedStatement:
    """Returns the signed statement of the member with this private Ed25519 key."""
    return signed(private, turn, Statement(client_keys.identity_key(private), phase, before, body))


def relay(private: bytes, turn: TurnOfRound, statement: Statement) -> bytes:
    """Returns the signature of a member that passes the statement on."""
    return client_keys.sign(private, relayed_bytes(turn, statement))


def is_relayed(turn: TurnOfRound, statement: Statement, identity: bytes, signature: bytes) -> bool:
    """Whether the member with this identity passed exactly this statement of this turn on."""
    return client_keys.verify(identity, signature, relayed_bytes(turn, statement))


def is_said(turn: TurnOfRound, statement: SignedStatement) -> bool:
    """Whether the member signed exactly this statement in this turn."""
    return client_keys.verify(statement.identity, statement.signature, signed_bytes(turn, statement))


def are_two_words(turn: TurnOfRound, one: SignedStatement, other: SignedStatement) -> bool:
    """Whether one member said two things about one phase: nobody who follows the protocol does."""
    same = (one.identity, one.phase) == (other.identity, other.phase)
    differ = (one.before, one.body) != (other.before, other.body)
    return same and differ and is_said(turn, one) and is_said(turn, other)


def heard_digest(statements: Iterable[bytes]) -> bytes:
    """Returns the SHA-256 of all statements of a phase (their digests, by client), that the next follow.

    So nobody can say later that its sender knew other ones.
    """
    return hashlib.sha256(fields(b"minga/mesh/1/heard", *statements)).digest()


# A machine compares a revealed coin with its commitment whenever it looks at who revealed theirs.
@lru_cache(maxsize=1024)
def coin_commitment(client: str, coin: bytes, salt: bytes) -> bytes:
    """Returns the commitment of a member to its part of the toss (Blum 1983), 32 bytes.

    `coin` and `salt` have 32 bytes; the client's id makes another one's commitment worthless. Raises
    ValueError for other lengths.
    """
    if len(coin) != COIN_BYTES or len(salt) != COIN_BYTES:
        raise ValueError(f"Coin and salt have {COIN_BYTES} bytes, not {len(coin)} and {len(salt)}.")
    return hashlib.sha256(fields(b"minga/mesh/1/coin", client.encode(), coin, salt)).digest()


def tossed_coin(coins: dict[str, bytes]) -> bytes:
    """Returns the coin, 32 bytes, that members tossed: a hash of all parts, by client.

    It is random if one part is, and nobody saw the others before it was committed to.
    """
    parts = [part for client in sorted(coins) for part in (client.encode(), coins[client])]
    return hashlib.sha256(fields(b"minga/mesh/1/toss", *parts)).digest()
