"""Dolev and Strong's broadcast (1983): after it all honest members have the same statements.

A statement that comes late counts only with as many signatures as windows have passed: then one of them is
of an honest member, who passed it on before. With more than half of the members honest, as many windows as
the others may be, and one, are enough. Windows are at least twice as long as a frame takes.
"""

from __future__ import annotations

from collections.abc import Collection

from backend.crypto.statements import Statement


def windows(members: int) -> int:
    """Returns how many windows an exchange of so many members has; fewer than half of them lie."""
    return (members - 1) // 2 + 1


def signer_count(statement: Statement, signers: Collection[bytes], members: Collection[bytes]) -> int:
    """Returns how many signed a statement: its sender, and those of the `members` that passed it on.

    All are identities.
    """
    return len({statement.identity, *(one for one in signers if one in members)})
