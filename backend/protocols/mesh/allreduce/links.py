"""Which members of a group can be talked to, and what was said on the links that are up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

# A word, and what makes one thing said differ from another of that word.
Said: TypeAlias = tuple[object, ...]
BULK = ("piece", "sum", "mean")


class LinkBook:
    """Who is linked, who is gone, and what each was told. All times are the machine's, in seconds.

    What was told over a link that went down counts as never said. Somebody is gone after `grace` seconds
    without a link, or as soon as it is silent.
    """

    def __init__(self, others: Iterable[int], grace: float, since: float) -> None:
        self._grace = grace
        self._told: dict[int, set[Said]] = {place: set() for place in others}
        self._linked: set[int] = set()
        self._gone_at = dict.fromkeys(self._told, since)

    def linked(self, place: int) -> None:
        """There is a link, or it is heard of again."""
        self._linked.add(place)
        self._gone_at.pop(place, None)

    def lost(self, place: int, now: float) -> None:
        """The link is down."""
        self._linked.discard(place)
        self._told[place].clear()
        self._gone_at.setdefault(place, now + self._grace)

    def silent(self, place: int, now: float) -> None:
        """Nothing comes from there."""
        self._gone_at[place] = min(now, self._gone_at.get(place, now))

    def gone(self, place: int, now: float) -> bool:
        """Whether nothing is to be expected from that member."""
        return now >= self._gone_at.get(place, now + 1)

    def untold(self, what: Said, places: Iterable[int]) -> list[int]:
        """Those of `places` that are linked and were not told this; from now on they were."""
        fresh = [place for place in places if place in self._linked and what not in self._told[place]]
        for place in fresh:
            self._told[place].add(what)
        return fresh

    def forget(self, place: int) -> None:
        """The bytes that were on their way to that member are dropped."""
        self._told[place] = {said for said in self._told[place] if said[0] not in BULK}

    def deadlines(self) -> Iterable[float]:
        """When somebody is gone for want of a link."""
        return self._gone_at.values()
