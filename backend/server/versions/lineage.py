"""Finds which versions led to the newest one, and which were rolled back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backend.stores.contracts import VersionRecord


@dataclass(frozen=True)
class Lineage:
    """How the versions of a run follow from each other.

    `restores` maps a version's number to that of the earlier version that it restored. `rolled_back` are the
    versions that the newest version does not descend from, because an owner restored an earlier one.
    """

    restores: Mapping[int, int] = field(default_factory=dict)
    rolled_back: frozenset[int] = frozenset()


def lineage_of(versions: Sequence[VersionRecord]) -> Lineage:
    """Returns the lineage of all versions of a run, given oldest first.

    A version without accepted updates that has the weights of an earlier version restores that version. If it
    repeats the version just before it, none was rolled back.
    """
    first: dict[str, int] = {}
    restores: dict[int, int] = {}
    repeated: set[int] = set()
    newest: str | None = None
    for version in versions:
        if version.version and not version.accepted and version.weights in first:
            restores[version.version] = first[version.weights]
            if version.weights == newest:
                repeated.add(version.version)
        first.setdefault(version.weights, version.version)
        newest = version.weights
    rolled_back: set[int] = set()
    number = versions[-1].version if versions else 0
    while number > 0:
        parent = number - 1 if number in repeated else restores.get(number, number - 1)
        rolled_back.update(range(parent + 1, number))
        number = parent
    return Lineage(restores, frozenset(rolled_back))
