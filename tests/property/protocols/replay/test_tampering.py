"""Whatever a party tampers with, it is named, with the step and the op; an honest one never is."""

from __future__ import annotations

import math
import random

import pytest

from backend.protocols.replay.bisection import Finding
from tests.support.protocols.replayed_training import (
    TracingParty,
    bisect,
    bisect_counting,
    digest,
    flip,
    layout,
)


@pytest.mark.parametrize("seed", range(60))
def test_the_first_op_tampered_with_is_found_by_log2_questions(seed: int) -> None:
    generator = random.Random(seed)
    step = layout(generator, generator.randint(1, 30))
    steps = generator.randint(1, 200)
    at, tensor = generator.randint(1, steps), generator.choice(step.tensors).tensor
    liar = TracingParty(step, steps, lambda n, t, v: flip(v) if (n, t) == (at, tensor) else v)
    parties = {"one": TracingParty(step, steps), "other": liar}
    if liar.update == parties["one"].update:
        return  # Nothing that follows depends on that op.
    found, asked = bisect_counting(parties)
    assert asked <= 1 + math.ceil(math.log2(max(steps, 2)))
    assert found == Finding(at, tensor, ("other",), "op")


@pytest.mark.parametrize("seed", range(60))
def test_a_party_whose_answers_contradict_each_other_is_named(seed: int) -> None:
    """Its values, ops and update are changed at random after its training, so that nothing fits."""
    generator = random.Random(seed)
    step = layout(generator, 8)
    steps = generator.randint(1, 60)
    liar = TracingParty(step, steps, lambda _n, _t, v: flip(v) if generator.random() < 0.02 else v)
    for values in liar.states:
        if generator.random() < 0.3:
            values[generator.choice(list(values))] = generator.randbytes(32)
    for hashes in liar.ops:
        if generator.random() < 0.3:
            hashes[generator.randrange(len(hashes))] = generator.randbytes(32)
    honest = TracingParty(step, steps)
    updates = {"one": honest.update, "other": digest(generator.randbytes(8))}
    assert bisect({"one": honest, "other": liar}, updates).wrong == ("other",)
    updates = {"other": updates["other"], "one": updates["one"]}
    assert bisect({"other": liar, "one": honest}, updates).wrong == ("other",)
