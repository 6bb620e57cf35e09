"""Defines a culprit: one thing that a figure counts, and where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Culprit:
    """`name` says what is wrong, `path` where; `line` is 0 for a whole file or folder."""

    name: str
    path: str
    line: int = 0

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: {self.name}" if self.name else where


def new_culprits(before: Sequence[Culprit], after: Sequence[Culprit]) -> list[Culprit]:
    """Those of `after` that `before` lacks; one that only moved (the same name elsewhere) isn't new."""
    here = Counter((one.name, one.path) for one in before)
    unmatched = []
    for one in after:
        if here[one.name, one.path]:
            here[one.name, one.path] -= 1
        else:
            unmatched.append(one)
    moved = Counter[str]()
    for (name, _), count in here.items():
        moved[name] += count
    found = []
    for one in unmatched:
        if one.name and moved[one.name]:
            moved[one.name] -= 1
        else:
            found.append(one)
    return found
