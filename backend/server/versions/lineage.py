"""Which versions stand behind the newest one, and which a roll-back left behind. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backend.stores.contracts import VersionRecord


@dataclass(frozen=True)
class Lineage:
    """`restores`: the earlier version that a version is again, by its number; `left`: those on no way to the
    newest version, because an owner went back behind them."""

    restores: Mapping[int, int] = field(default_factory=dict)
    left: frozenset[int] = frozenset()


def lineage_of(versions: Sequence[VersionRecord]) -> Lineage:
    """The lineage of all versions of a run, oldest first.

    A version that no update went into, and that has the weights of an earlier one, is that one again.
    """
    first: dict[str, int] = {}
    restores: dict[int, int] = {}
    for one in versions:
        if one.version and not one.accepted and one.weights in first:
            restores[one.version] = first[one.weights]
        first.setdefault(one.weights, one.version)
    left: set[int] = set()
    at = versions[-1].version if versions else 0
    while at > 0:
        before = restores.get(at, at - 1)
        left.update(range(before + 1, at))
        at = before
    return Lineage(restores, frozenset(left))
