"""Defines a culprit: one finding of a figure, and its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Culprit:
    """A finding: `name` says what is wrong, `path` where; `line` is 0 for a whole file or folder."""

    name: str
    path: str
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.name}" if self.name else where


def new_culprits(before: Sequence[Culprit], after: Sequence[Culprit]) -> list[Culprit]:
    """Returns the culprits of `after` that `before` lacks.

    A culprit that only moved (the same name at another place) is not new.
    """
    remaining = Counter((culprit.name, culprit.path) for culprit in before)
    unmatched = []
    for culprit in after:
        if remaining[culprit.name, culprit.path]:
            remaining[culprit.name, culprit.path] -= 1
        else:
            unmatched.append(culprit)
    moved_counts = Counter[str]()
    for (name, _), count in remaining.items():
        moved_counts[name] += count
    new = []
    for culprit in unmatched:
        if culprit.name and moved_counts[culprit.name]:
            moved_counts[culprit.name] -= 1
        else:
            new.append(culprit)
    return new
