"""Bad input from elsewhere is read, or refused by the error that its decoder documents."""

from __future__ import annotations

import resource

import pytest

from tests.property.fuzzing.decoders import decoders, try_inputs
from tests.support.waiting import HEAVY

DECODERS = decoders()
INPUTS = 20_000
# Whatever the input says of its lengths.
MOST_MIB = 64


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", DECODERS)
def test_bad_input_raises_nothing_but_the_documented_error(name: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    good = try_inputs(DECODERS[name], seed=1, count=INPUTS)
    assert INPUTS // 100 < good < INPUTS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MIB * 1024
