"""The reorder buffer: releases the values of concurrent jobs in the order of their bases."""

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
    """Releases the values of concurrent jobs, each of which ends with a `base`, lowest base first.

    A job with a lower base than one that ended was running at that moment, or ended earlier: each value waits
    for the jobs that were running when it finished. Otherwise the newest weights could contain results whose
    receipts have not arrived.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._working: set[int] = set()
        self._ready: list[_Ready[T]] = []

    def begin(self) -> int:
        """Registers a job that begins. Returns its number, for `end` or `fail`."""
        self._begun += 1
        self._working.add(self._begun)
        return self._begun

    def end(self, number: int, base: int, value: T) -> list[T]:
        """Adds the value of a job that ended. Returns the values that are due."""
        self._working.remove(number)
        self._ready.append(_Ready(base, number, frozenset(self._working), value))
        return self._due()

    def fail(self, number: int) -> list[T]:
        """Removes a job that failed. Returns the values that are due."""
        self._working.remove(number)
        return self._due()

    def _due(self) -> list[T]:
        self._ready.sort(key=lambda entry: (entry.base, entry.number))
        due: list[T] = []
        while self._ready and not self._ready[0].before & self._working:
            due.append(self._ready.pop(0).value)
        return due
