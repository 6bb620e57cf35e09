"""Bad input from elsewhere is read, or refused by the error that its decoder documents."""

from __future__ import annotations

import resource

import pytest

from tests.property.fuzzing.decoders import decoders, try_inputs
from tests.support.timeouts import HEAVY

DECODERS = decoders()
# First seed and number of inputs, in the short and in the long lane.
FEW, MANY = (1, 4_000), (100_000, 40_000)
# Whatever the input says of its lengths.
MOST_MIB = 64


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(("seed", "inputs"), [FEW, pytest.param(*MANY, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DECODERS)
def test_bad_input_raises_nothing_but_the_documented_error(name: str, seed: int, inputs: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    good = try_inputs(DECODERS[name], seed, inputs)
    assert inputs // 100 < good < inputs
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MIB * 1024
