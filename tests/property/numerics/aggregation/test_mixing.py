"""Each mixing reproduces its assimilation, whatever the settings, the result and what came before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregation import asynchronous, mixing
from backend.numerics.aggregation.asynchronous import ASSIMILATIONS, ClientResult, no_memory
from backend.numerics.aggregation.mixing import MIXINGS, Arrival
from backend.numerics.vectors import Vector64

SHARES = st.floats(0.0, 1.0)
POSITIVE = st.floats(1e-3, 20.0)
SETTINGS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "vc-asgd": st.fixed_dictionaries({}, optional={"alpha": SHARES | st.none()}),
    "downpour": st.fixed_dictionaries({}, optional={"learning_rate": POSITIVE}),
    "fedasync": st.fixed_dictionaries({"discount": st.just("constant")}, optional={"alpha": SHARES})
    | st.fixed_dictionaries({"discount": st.just("polynomial")}, optional={"alpha": SHARES, "a": POSITIVE})
    | st.fixed_dictionaries(
        {"discount": st.just("hinge")}, optional={"alpha": SHARES, "a": POSITIVE, "b": POSITIVE}
    ),
}


@given(
    st.sampled_from(sorted(MIXINGS)).flatmap(lambda name: st.tuples(st.just(name), SETTINGS[name])),
    st.none() | st.integers(0, 5),
    st.tuples(st.integers(0, 500), st.integers(1, 100), st.integers(0, 10)),
    st.integers(0, 2**32 - 1),
)
def test_a_mixing_reproduces_its_assimilation(
    choice: tuple[str, dict[str, Any]], warm: int | None, arrived: tuple[int, int, int], seed: int
) -> None:
    (name, settings), (staleness, epoch, count) = choice, arrived
    recipe, mix_of = ASSIMILATIONS[name](**settings), MIXINGS[name](**settings)
    if warm is not None:
        recipe, mix_of = asynchronous.warm_start(recipe, warm), mixing.warm_start(mix_of, warm)
    dice = np.random.default_rng(seed)
    params, weights, base = (dice.standard_normal(20).astype(np.float32) for _ in range(3))

    result = ClientResult(weights, base, staleness, epoch)
    after, _ = recipe(params, result, replace(no_memory(), count=count))

    mix = mix_of(Arrival(staleness, epoch, count))
    w, c, b = (vector.astype(np.float64) for vector in (params, weights, base))
    wanted: Vector64 = (1.0 - mix.pull) * w + mix.pull * b + mix.gain * (c - b)
    np.testing.assert_allclose(after, wanted, rtol=1e-6, atol=1e-6)


def test_linear_assimilations_are_those_that_have_a_mixing() -> None:
    assert sorted(ASSIMILATIONS.keys() - MIXINGS.keys()) == ["dc-asgd", "easgd", "fedbuff"]
