"""Results that are assimilated as they arrive, against formulas written down a second time."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.aggregation.asynchronous import (
    ASSIMILATIONS,
    Assimilate,
    ClientResult,
    Memory,
    dc_asgd,
    downpour,
    due,
    easgd,
    elastic,
    fedasync,
    fedbuff,
    may_begin,
    no_memory,
    shifted,
    vc_asgd,
    warm_start,
)
from backend.numerics.aggregation.staleness import hinge, polynomial, versions_since
from backend.numerics.vectors import BLOCK_VALUES, Vector

RATE = 0.5
REQUIRED: dict[str, dict[str, Any]] = {"dc-asgd": {"client_rate": RATE}}
EVERY = pytest.mark.parametrize("name", sorted(ASSIMILATIONS))


def vector(seed: int, size: int = 50) -> Vector:
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def results(count: int, size: int = 50) -> list[ClientResult]:
    """Of clients that trained from other versions than the server's."""
    return [
        ClientResult(vector(10 + n, size), vector(100 + n, size), n % 5, n // 3 + 1) for n in range(count)
    ]


def run(assimilate: Assimilate, params: Vector, some: list[ClientResult]) -> list[Vector]:
    """The params after each result."""
    memory, seen = no_memory(), []
    for result in some:
        params, memory = assimilate(params, result, memory)
        seen.append(params)
    return seen


def close(found: Vector, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def made(name: str) -> Assimilate:
    """The recipe with its defaults."""
    return ASSIMILATIONS[name](**REQUIRED.get(name, {}))


@EVERY
def test_what_changed_nothing_changes_nothing(name: str) -> None:
    params = vector(1)
    for found in run(made(name), params, [ClientResult(params, params, 3, 2)] * 12):
        np.testing.assert_array_equal(found, params)


@EVERY
def test_inputs_are_left_alone_and_every_block_is_treated_alike(name: str) -> None:
    size = 2 * BLOCK_VALUES + 3
    params, some = vector(1, size), results(3, size)
    kept = [array.copy() for array in (params, *(one.weights for one in some), *(one.base for one in some))]
    whole = run(made(name), params, some)[-1]
    given = (params, *(one.weights for one in some), *(one.base for one in some))
    for array, before in zip(given, kept, strict=True):
        np.testing.assert_array_equal(array, before)
    assert whole.dtype == np.float32
    ends = slice(-3, None)
    cut = [ClientResult(one.weights[ends], one.base[ends], one.staleness, one.epoch) for one in some]
    np.testing.assert_array_equal(whole[ends], run(made(name), params[ends], cut)[-1])


@EVERY
def test_vectors_of_other_models_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="different models"):
        made(name)(vector(1), ClientResult(vector(2, 49), vector(3)), no_memory())


@EVERY
def test_values_that_are_no_numbers_stay_so_that_the_caller_sees_them(name: str) -> None:
    broken = vector(2)
    broken[7] = np.nan
    found = run(made(name), vector(1), [ClientResult(broken, vector(3))] * 10)[-1]
    assert np.isnan(found[7])
    assert np.isfinite(np.delete(found, 7)).all()


@pytest.mark.parametrize("alpha", [0.7, 0.95, 0.999])
def test_vc_asgd_blends(alpha: float) -> None:
    params = vector(1).astype(np.float64)
    some = results(9)
    found = run(vc_asgd(alpha), params.astype(np.float32), some)
    # Unrolled: what came k results ago weighs alpha^k (1 - alpha).
    weights = [(1 - alpha) * alpha ** (8 - k) for k in range(9)]
    close(found[-1], alpha**9 * params + sum(w * r.weights for w, r in zip(weights, some, strict=True)))


def test_vc_asgd_without_alpha_keeps_the_mean_where_an_epoch_has_one_result() -> None:
    params = vector(1)
    some = [ClientResult(vector(10 + e), params, 0, e) for e in range(1, 8)]
    found = run(vc_asgd(), params, some)
    for e, here in enumerate(found, 1):
        close(here, np.mean([params, *(one.weights for one in some[:e])], axis=0, dtype=np.float64))


def test_downpour_adds_changes_up() -> None:
    params, some = vector(1), results(6)
    total = sum(one.weights.astype(np.float64) - one.base for one in some)
    close(run(downpour(0.3), params, some)[-1], params + 0.3 * total)


@pytest.mark.parametrize("trainable", [0, 20, 50])
def test_adagrad_adds_the_change_of_statistics_as_it_is(trainable: int) -> None:
    params, some = vector(1), results(3)
    found = run(downpour(adagrad=0.1, trainable=trainable), params, some)[-1]
    close(found[:trainable], run(downpour(adagrad=0.1), params, some)[-1][:trainable])
    close(found[trainable:], run(downpour(), params, some)[-1][trainable:])


def test_adagrad_leaves_values_alone_that_nothing_ever_changed() -> None:
    params, base = vector(1), vector(2)
    weights = base.copy()
    weights[:10] += 1.0
    moved = run(downpour(adagrad=0.1), params, [ClientResult(weights, base)] * 2)[-1]
    np.testing.assert_array_equal(moved[10:], params[10:])
    # The first step is gamma, the next gamma over the root of 2.
    close(moved[:10] - params[:10], 0.1 * (1.0 + 0.5**0.5))


def test_downpour_pushes_and_fetches_at_its_steps() -> None:
    assert [step for step in range(1, 13) if due(step, 5)] == [5, 10]


def test_easgd_draws_server_and_client_to_each_other_and_keeps_their_sum() -> None:
    params, client = vector(1), vector(2)
    (moved,) = run(easgd(0.25), params, [ClientResult(client, vector(3))])
    drawn = elastic(client, params, 0.25)
    close(moved, 0.75 * params + 0.25 * client)
    close(drawn, 0.25 * params + 0.75 * client)
    close(moved + drawn, params + client)


def test_dc_asgd_is_exact_where_the_hessian_is_what_it_takes_it_for() -> None:
    # One step of rate 0.5: g is 1, and g (1 + lambda g (w - base)) starts a Taylor series of g at w.
    params, base, weights = (np.array([one], np.float32) for one in (2.0, 1.5, 1.0))
    (moved,) = run(dc_asgd(RATE, 1.0, 0.4), params, [ClientResult(weights, base)])
    close(moved, [2.0 - 0.5 * (1.0 + 0.4 * 1.0 * 0.5)])


@pytest.mark.parametrize("decay", [None, 0.9])
@pytest.mark.parametrize("trainable", [0, 20, 50])
def test_dc_asgd_adds_the_change_of_statistics_and_corrects_none(trainable: int, decay: float | None) -> None:
    params, some = vector(1), results(3)
    found = run(dc_asgd(RATE, 0.5, decay=decay, trainable=trainable), params, some)[-1]
    corrected = run(dc_asgd(RATE, 0.5, decay=decay), params, some)[-1]
    close(found[:trainable], corrected[:trainable])
    close(found[trainable:], run(downpour(0.5), params, some)[-1][trainable:])
    # A shard of the model from its 30th value on.
    part = [replace(one, weights=one.weights[30:], base=one.base[30:], first=30) for one in some]
    sharded = run(dc_asgd(RATE, 0.5, decay=decay, trainable=trainable), params[30:], part)[-1]
    np.testing.assert_array_equal(sharded, found[30:])


@pytest.mark.parametrize(
    ("settings", "weights"),
    [
        ({"discount": "constant"}, [1.0, 1.0, 1.0, 1.0, 1.0]),
        ({"discount": "polynomial", "a": 0.5}, [(s + 1) ** -0.5 for s in range(5)]),
        ({"discount": "hinge", "a": 10.0, "b": 2.0}, [1.0, 1.0, 1.0, 1 / 11, 1 / 21]),
    ],
)
def test_fedasync_trusts_old_results_less(settings: dict[str, Any], weights: list[float]) -> None:
    params, some = vector(1), results(5)
    wanted = params.astype(np.float64)
    for weight, one in zip(weights, some, strict=True):
        wanted = (1 - 0.6 * weight) * wanted + 0.6 * weight * one.weights
    close(run(fedasync(0.6, **settings), params, some)[-1], wanted)


@given(st.integers(0, 1000))
def test_no_discount_ever_grows_with_staleness(staleness: int) -> None:
    for discount in (polynomial(0.5), hinge(10.0, 4.0)):
        assert 0.0 < discount(staleness + 1) <= discount(staleness) <= 1.0


def fresh(some: list[ClientResult]) -> list[ClientResult]:
    """The results as if each were trained from the newest version."""
    return [replace(one, staleness=0) for one in some]


def test_fedbuff_waits_for_its_buffer_and_takes_the_mean() -> None:
    params, some = vector(1), fresh(results(7))
    seen = run(fedbuff(3, 0.5), params, some)
    changes = [one.weights.astype(np.float64) - one.base for one in some]
    first = params + 0.5 * np.mean(changes[:3], axis=0)
    second = first + 0.5 * np.mean(changes[3:6], axis=0)
    for found, wanted in zip(seen, [params, params, first, first, first, second, second], strict=True):
        close(found, wanted)


@given(st.integers(0, 200), st.integers(0, 200), st.integers(1, 20))
def test_fedbuff_counts_versions_one_by_one(begun: int, staleness: int, buffer: int) -> None:
    full = [number for number in range(begun + 1, begun + staleness + 1) if number % buffer == 0]
    assert versions_since(begun + staleness, staleness, buffer) == len(full)


def test_relatives_agree_where_they_are_the_same() -> None:
    params, some = vector(1), results(6)
    same = [
        (vc_asgd(0.4), fedasync(0.6, "constant")),
        (vc_asgd(0.9), easgd(0.1)),
        (dc_asgd(RATE, 1.0, 0.0), downpour(1.0)),
        (fedasync(0.6, "polynomial", a=0.0), fedasync(0.6, "constant")),
    ]
    for one, other in same:
        close(run(one, params, some)[-1], run(other, params, some)[-1])
    close(run(fedbuff(1), params, fresh(some))[-1], run(downpour(), params, some)[-1])


def test_a_warm_start_takes_the_first_results_as_they_are_and_tells_the_rest_nothing() -> None:
    params, some = vector(1), fresh(results(9))
    seen = run(warm_start(fedbuff(2), 3), params, some)
    for found, one in zip(seen[:3], some, strict=False):
        np.testing.assert_array_equal(found, one.weights)
    for found, wanted in zip(seen[3:], run(fedbuff(2), some[2].weights, some[3:]), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_shift_adds_a_change_and_leaves_the_memory_alone() -> None:
    params, change, zeros = vector(1), vector(2), np.zeros(50, np.float32)
    memory = Memory(vector(3), 7)
    moved, after = shifted(params, ClientResult(change, zeros, 4, 2), memory)
    np.testing.assert_array_equal(moved, params + change)
    assert after is memory


@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=60))
def test_nobody_gets_further_ahead_than_the_bound(bound: int, order: list[int]) -> None:
    clocks = [0, 0, 0, 0]
    for client in order:
        if may_begin(clocks[client], clocks, bound):
            clocks[client] += 1
        assert max(clocks) - min(clocks) <= bound
        # The slowest may always go on, so nobody waits for ever.
        assert may_begin(min(clocks), clocks, bound)


def test_a_memory_counts_every_result() -> None:
    counts = itertools.accumulate(
        results(4), lambda m, r: fedbuff(3)(vector(1), r, m)[1], initial=no_memory()
    )
    assert [memory.count for memory in counts if isinstance(memory, Memory)] == [0, 1, 2, 3, 4]
