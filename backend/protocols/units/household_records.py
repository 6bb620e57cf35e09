"""What is remembered of households: units of their newcomers that wait, and results that were refuted.

New names cost nothing, addresses do. So what a stranger may gain before the first comparison, and what a
refuted result costs, is counted for the household (decision 0059).
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict

from backend.protocols.client.household import Household
from backend.protocols.units.scheduler_effects import LeaseId

# For so long a household vouches for nobody after a trusted peer refuted a result of one of its clients.
SUSPENDED_SECONDS = 86_400.0
# Households that are remembered as suspended; the oldest are forgotten first.
MAX_SUSPENDED = 20_000
# Units of suspects, all in all, that wait for a trusted peer: more would keep it from what others wait for.
MAX_SUSPECT_UNITS = 3


class HouseholdRecords:
    """Owns the waiting units of each household's newcomers, those of suspects, and the suspended households.

    Suspects are clients of suspended households whose own results have proven nothing yet.
    """

    def __init__(self) -> None:
        self._of_suspects: set[LeaseId] = set()
        self._waiting: defaultdict[str, set[LeaseId]] = defaultdict(set)
        self._suspended: OrderedDict[str, float] = OrderedDict()

    def waiting(self, household: Household) -> int:
        """Returns how many units that newcomers of it began wait for a comparison."""
        return len(self._waiting[household.key]) if household.key in self._waiting else 0

    def begin(self, household: Household, lease: LeaseId) -> None:
        """Takes a unit that a newcomer began."""
        self._waiting[household.key].add(lease)

    def may_suspects_begin(self) -> bool:
        """Whether one unit more of a suspect may wait for a trusted peer."""
        return len(self._of_suspects) < MAX_SUSPECT_UNITS

    def suspect_began(self, lease: LeaseId) -> None:
        """Takes a unit that a suspect began."""
        self._of_suspects.add(lease)

    def end(self, household: Household, lease: LeaseId) -> None:
        """Takes that a unit does not wait any more, if it did."""
        self._of_suspects.discard(lease)
        if (leases := self._waiting.get(household.key)) is None:
            return
        leases.discard(lease)
        if not leases:
            del self._waiting[household.key]

    def suspend(self, household: Household, now: float) -> None:
        """Takes that a trusted peer refuted a result of one of its clients."""
        self._suspended[household.key] = now + SUSPENDED_SECONDS
        self._suspended.move_to_end(household.key)
        if len(self._suspended) > MAX_SUSPENDED:
            self._suspended.popitem(last=False)

    def is_suspended(self, household: Household, now: float) -> bool:
        """Whether a result of one of its clients was refuted within a day."""
        return self._suspended.get(household.key, -math.inf) > now
