"""Limits how often events happen by token buckets, each stored as one number. Time is an argument."""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

NEVER = -math.inf
# The tolerance in tokens, because sums of times are not exact.
_SLACK = 1e-6


@dataclass(frozen=True)
class Rate:
    """A token bucket that holds `burst` tokens and gains `per_second`; each event takes one token.

    The bucket is stored as the time at which it will be full again (the virtual scheduling algorithm of ITU-T
    I.371), so that a full bucket needs no memory.
    """

    per_second: float
    burst: float

    def spend(self, full: float, now: float) -> float | None:
        """Returns when the bucket will be full after one more event at `now`; None if it holds no token.

        `full` is the result of the last event, NEVER before the first.
        """
        after = max(full, now) + 1 / self.per_second
        return after if (after - now) * self.per_second <= self.burst + _SLACK else None

    def wait(self, full: float, now: float, tokens: float) -> float:
        """Returns the seconds until the bucket holds `tokens`, at most `burst`; 0.0 if it already does."""
        return max(0.0, full + (tokens - self.burst) / self.per_second - now)


class TokenBuckets:
    """One bucket per key. Stores a number for each bucket that is not full, for at most `max_keys` keys."""

    def __init__(self, rate: Rate, max_keys: int) -> None:
        self._rate = rate
        self._max_keys = max_keys
        self._full: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full)

    def spend(self, key: str, now: float) -> bool:
        """Whether one more event of `key` may happen at `now`; if so, it is counted."""
        after = self._rate.spend(self._full.get(key, NEVER), now)
        if after is None:
            return False
        self._full[key] = after
        self._full.move_to_end(key)
        self._forget(now)
        return True

    def _forget(self, now: float) -> None:
        """Drops the least recently used keys: those with full buckets, and those beyond the maximum."""
        while len(self._full) > self._max_keys or next(iter(self._full.values())) <= now:
            self._full.popitem(last=False)
