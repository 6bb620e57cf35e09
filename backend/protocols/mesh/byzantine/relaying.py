"""Dolev and Strong's broadcast (1983): after it all honest members have the same statements.

A statement that comes late counts only with as many signatures as windows have passed: then one of them is
of an honest member, who passed it on before. With more than half of the members honest, as many windows as
the others may be, and one, are enough. Windows are at least twice as long as a frame takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from backend.crypto import client_keys
from backend.crypto.round_context import fields
from backend.crypto.statements import SignedStatement, TurnOfRound


@dataclass(frozen=True)
class Relayed:
    """A statement with the signatures of members that passed it on, by identity."""

    statement: SignedStatement
    signatures: tuple[tuple[bytes, bytes], ...] = ()


def windows(members: int) -> int:
    """Returns how many windows an exchange of so many members has; fewer than half of them lie."""
    return (members - 1) // 2 + 1


def signed_on(private: bytes, turn: TurnOfRound, relayed: Relayed) -> Relayed:
    """Returns the statement with this member's signature, too."""
    identity = client_keys.identity_key(private)
    signature = client_keys.sign(private, _signed(turn, relayed.statement))
    return Relayed(relayed.statement, (*relayed.signatures, (identity, signature)))


def signers(turn: TurnOfRound, relayed: Relayed, members: frozenset[bytes]) -> int:
    """Returns by how many of the `members` (identities) a statement was signed, its own sender included."""
    signed = _signed(turn, relayed.statement)
    found = {relayed.statement.identity}
    for identity, signature in relayed.signatures[: len(members)]:
        if identity in members - found and client_keys.verify(identity, signature, signed):
            found.add(identity)
    return len(found)


def _signed(turn: TurnOfRound, statement: SignedStatement) -> bytes:
    return fields(b"minga/mesh/1/relayed", statement.digest(turn))
