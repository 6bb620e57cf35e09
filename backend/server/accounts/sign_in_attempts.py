"""How often somebody may try to sign in."""

from __future__ import annotations

from collections.abc import Callable

from backend.errors import TooFastError
from backend.protocols.token_bucket import Rate, TokenBuckets

# Addresses and accounts whose last tries are remembered.
MOST_REMEMBERED = 20_000


class Attempts:
    """Counts tries, by network address or by account. `clock` gives seconds; it is never set back."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rates = TokenBuckets(rate, MOST_REMEMBERED)
        self._clock = clock

    def count(self, key: str) -> None:
        """One more try. Raises TooFastError."""
        if not self._rates.spend(key, self._clock()):
            raise TooFastError("Too many tries to sign in. Wait a minute, then try again.")
