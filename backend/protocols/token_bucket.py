"""How often something may happen: token buckets that are one number each. Time is an argument."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

NEVER = -math.inf
# A part of a token: sums of times are not exact.
_SLACK = 1e-6


@dataclass(frozen=True)
class Rate:
    """A token bucket that holds `burst` tokens and gains `per_second`; each event takes one out.

    The bucket is kept as the time at which it will be full again (the virtual scheduling algorithm of ITU-T
    I.371), so that whoever is full already need not be remembered at all.
    """

    per_second: float
    burst: float

    def spend(self, full: float, now: float) -> float | None:
        """When the bucket will be full after one more event at `now`; None when it holds no token.

        `full` is what the last event gave, NEVER before the first.
        """
        after = max(full, now) + 1 / self.per_second
        return after if (after - now) * self.per_second <= self.burst + _SLACK else None

    def wait(self, full: float, now: float, tokens: float) -> float:
        """Seconds until it holds so many tokens, at most `burst`; 0.0 where it does."""
        return max(0.0, full + (tokens - self.burst) / self.per_second - now)


class TokenBuckets:
    """One bucket for each key. Owns a number for each key that is not full again, for at most `most` keys."""

    def __init__(self, rate: Rate, most: int) -> None:
        self._rate = rate
        self._most = most
        self._full: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full)

    def spend(self, key: str, now: float) -> bool:
        """Whether one more event of `key` may happen at `now`; if so it counts."""
        after = self._rate.spend(self._full.get(key, NEVER), now)
        if after is None:
            return False
        self._full[key] = after
        self._full.move_to_end(key)
        self._forget(now)
        return True

    def _forget(self, now: float) -> None:
        """Forgets who was not heard of for longest: the full ones, and whoever is too much."""
        while len(self._full) > self._most or next(iter(self._full.values())) <= now:
            self._full.popitem(last=False)
