"""Play part of many schedules in the short lane, and the others in the long one."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

# Of the portions that a test's schedules are cut into.
SHORT_SHARE = 0.1


def by_lane(portions: int) -> list[ParameterSet]:
    """Numbers of portions, as parameters of a test: the first ones are short."""
    return [
        pytest.param(number, marks=() if number < SHORT_SHARE * portions else pytest.mark.long)
        for number in range(portions)
    ]
