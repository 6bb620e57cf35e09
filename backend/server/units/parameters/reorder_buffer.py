"""Receipts in the order in which results came into the model, though their servers end in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Ready(Generic[T]):
    base: int
    number: int
    before: frozenset[int]
    value: T


class ReorderBuffer(Generic[T]):
    """Of work that goes on at one time, each with a `base` at its end, hands out the lowest base first.

    Whoever has a lower base than one that ended, was at work when that one ended, or ended before: so it is
    enough to wait for those who were at work then. The newest weights would else hold results that their
    reader has not heard of yet.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._working: set[int] = set()
        self._ready: list[_Ready[T]] = []

    def begin(self) -> int:
        """Somebody begins; its number, for `end` or `fail`."""
        self._begun += 1
        self._working.add(self._begun)
        return self._begun

    def end(self, number: int, base: int, value: T) -> list[T]:
        """It ended; what can be handed out now."""
        self._working.remove(number)
        self._ready.append(_Ready(base, number, frozenset(self._working), value))
        return self._due()

    def fail(self, number: int) -> list[T]:
        """It ended with nothing; what can be handed out now."""
        self._working.remove(number)
        return self._due()

    def _due(self) -> list[T]:
        self._ready.sort(key=lambda one: (one.base, one.number))
        due: list[T] = []
        while self._ready and not self._ready[0].before & self._working:
            due.append(self._ready.pop(0).value)
        return due
