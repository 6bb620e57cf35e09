"""Limits how many clients under new names may join a task of work units from one household."""

from __future__ import annotations

from backend.protocols.token_bucket import Rate, TokenBuckets

HOUR_SECONDS = 3600
# Households whose newest clients are counted; each takes a number and a short text.
MAX_HOUSEHOLDS = 20_000


class NewcomerLimits:
    """Owns how many newcomers each household has had lately: `an_hour`, and one where it is suspended.

    New names cost nothing, so a household with a refuted result could bring a liar again and again.
    """

    def __init__(self, an_hour: int) -> None:
        self._usual = TokenBuckets(Rate(an_hour / HOUR_SECONDS, an_hour), MAX_HOUSEHOLDS)
        self._suspended = TokenBuckets(Rate(1 / HOUR_SECONDS, 1), MAX_HOUSEHOLDS)

    def admit(self, household: str, suspended: bool, now: float) -> bool:
        """Whether one more may join; if so, it is counted."""
        limits = self._suspended if suspended else self._usual
        return limits.spend(household, now)
