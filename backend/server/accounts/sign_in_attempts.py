"""Limits the rate of sign-in attempts."""

from __future__ import annotations

from collections.abc import Callable

from backend.errors import TooFastError
from backend.protocols.token_bucket import Rate, TokenBuckets

# Addresses and accounts whose attempts are counted.
MAX_KEYS = 20_000


class Attempts:
    """Counts attempts by network address or by account. `clock` gives seconds and is monotonic."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rates = TokenBuckets(rate, MAX_KEYS)
        self._clock = clock

    def count(self, key: str) -> None:
        """Counts an attempt. Raises TooFastError."""
        if not self._rates.spend(key, self._clock()):
            raise TooFastError("Too many tries to sign in. Wait a minute, then try again.")
