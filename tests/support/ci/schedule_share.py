"""Splits many schedules: a part runs in the short lane, the rest in the long one."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

# The share of a test's portions that run in the short lane.
SHORT_SHARE = 0.1


def by_lane(portions: int) -> list[ParameterSet]:
    """Returns the numbers of portions as parameters of a test; the first ones are short."""
    return [
        pytest.param(number, marks=() if number < SHORT_SHARE * portions else pytest.mark.long)
        for number in range(portions)
    ]
