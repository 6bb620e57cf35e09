"""Tests that every parameter store must pass; each implementation's tests inherit them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from backend.numerics.aggregation.asynchronous import (
    ClientResult,
    Memory,
    dc_asgd,
    downpour,
    easgd,
    fedasync,
    fedbuff,
    no_memory,
    shifted,
    vc_asgd,
    warm_start,
)
from backend.numerics.vectors import BLOCK_VALUES, Vector
from backend.stores.parameters.contract import ParametersGoneError, ParameterStore

# Not a multiple of a block or of a number of shards.
SIZE = BLOCK_VALUES + 77
RECIPES = {
    "vc-asgd": vc_asgd(),
    "downpour": downpour(0.5),
    "downpour with adagrad": downpour(adagrad=0.1, trainable=SIZE // 2),
    "easgd": easgd(),
    "dc-asgd": dc_asgd(0.5),
    "dc-asgd with its mean square": dc_asgd(0.5, decay=0.9),
    "dc-asgd with statistics": dc_asgd(0.5, decay=0.9, trainable=SIZE // 2),
    "fedasync": fedasync(),
    "fedbuff": fedbuff(3),
    "warm-start": warm_start(fedbuff(2), 2),
}


def vector(seed: int) -> Vector:
    """Returns values like those of a model."""
    return np.random.default_rng(seed).standard_normal(SIZE).astype(np.float32)


def results(count: int) -> list[tuple[ClientResult, int]]:
    """Returns results with their bases: each started two results earlier."""
    return [
        (ClientResult(vector(10 + number), vector(50 + number), epoch=1 + number // 2), max(0, number - 2))
        for number in range(count)
    ]


class ParameterStoreContract:
    """The contract's tests; subclasses provide a fixture `store` that has not begun."""

    def test_it_holds_what_somebody_began_with(self, store: ParameterStore) -> None:
        store.begin(vector(1), Memory(vector(2), 7), 40)
        stored = store.read()
        np.testing.assert_array_equal(stored.weights, vector(1))
        np.testing.assert_array_equal(stored.memory.slot, vector(2))
        assert (stored.memory.count, stored.base) == (7, 40)

    def test_who_reads_before_anybody_began_is_told(self, store: ParameterStore) -> None:
        with pytest.raises(ParametersGoneError):
            store.read()
        with pytest.raises(ParametersGoneError):
            store.assimilate(vc_asgd(), results(1)[0][0], 0, "a")

    @pytest.mark.parametrize("name", RECIPES)
    def test_results_that_come_one_by_one_are_assimilated_to_the_last_bit(
        self, store: ParameterStore, name: str
    ) -> None:
        recipe = RECIPES[name]
        store.begin(vector(1), no_memory(), 0)
        weights, memory = vector(1), no_memory()
        for number, (result, base) in enumerate(results(5)):
            receipt = store.assimilate(recipe, result, base, f"turn {number}")
            told = ClientResult(result.weights, result.base, number - base, result.epoch)
            weights, memory = recipe(weights, told, memory)
            for standing in (receipt, store.read()):
                np.testing.assert_array_equal(standing.weights, weights)
                np.testing.assert_array_equal(standing.memory.slot, memory.slot)
                assert (standing.memory.count, standing.base) == (memory.count, number + 1)
            assert (receipt.staleness, receipt.lost) == (number - base, 0)

    def test_results_of_one_version_fill_a_buffer_without_a_discount(self, store: ParameterStore) -> None:
        zeros, ones = np.zeros(SIZE, np.float32), np.ones(SIZE, np.float32)
        store.begin(zeros, no_memory(), 40)
        for number in range(10):
            store.assimilate(fedbuff(10), ClientResult(ones, zeros), 40, f"result {number}")
        np.testing.assert_allclose(store.read().weights, 1.0, atol=1e-6)

    def test_a_result_that_was_taken_in_already_changes_nothing(self, store: ParameterStore) -> None:
        store.begin(vector(1), no_memory(), 5)
        (first, _), (second, _) = results(2)
        once = store.assimilate(vc_asgd(0.5), first, 5, "first")
        store.assimilate(vc_asgd(0.5), second, 5, "second")
        after = store.read()
        again = store.assimilate(vc_asgd(0.5), first, 5, "first")
        assert (again.base, once.base, store.read().base) == (7, 6, 7)
        np.testing.assert_array_equal(store.read().weights, after.weights)
        np.testing.assert_array_equal(again.weights, after.weights)

    @pytest.mark.parametrize("name", RECIPES)
    def test_a_shift_is_one_more_version_that_the_memory_does_not_count(
        self, store: ParameterStore, name: str
    ) -> None:
        recipe, zeros = RECIPES[name], np.zeros(SIZE, np.float32)
        store.begin(vector(1), no_memory(), 5)
        (first, _), (second, _) = results(2)
        before = store.assimilate(recipe, first, 5, "first")
        for _ in range(2):
            receipt = store.assimilate(shifted, ClientResult(vector(3), zeros), 6, "shift")
            for standing in (receipt, store.read()):
                np.testing.assert_array_equal(standing.weights, before.weights + vector(3))
                np.testing.assert_array_equal(standing.memory.slot, before.memory.slot)
                assert (standing.memory.count, standing.base) == (before.memory.count, 7)
        weights, memory = recipe(receipt.weights, replace(second, staleness=2), receipt.memory)
        after = store.assimilate(recipe, second, 5, "second")
        np.testing.assert_array_equal(after.weights, weights)
        np.testing.assert_array_equal(after.memory.slot, memory.slot)
        assert (after.memory.count, after.base, after.staleness) == (memory.count, 8, 2)

    def test_nothing_is_left_where_somebody_cleared_it(self, store: ParameterStore) -> None:
        store.begin(vector(1), no_memory(), 5)
        store.clear()
        with pytest.raises(ParametersGoneError):
            store.read()
        store.clear()

    def test_who_begins_again_replaces_everything(self, store: ParameterStore) -> None:
        store.begin(vector(1), no_memory(), 5)
        store.assimilate(fedbuff(3), results(1)[0][0], 5, "first")
        store.begin(vector(2), no_memory(), 3)
        stored = store.read()
        np.testing.assert_array_equal(stored.weights, vector(2))
        assert (len(stored.memory.slot), stored.memory.count, stored.base) == (0, 0, 3)
        assert store.assimilate(fedbuff(3), results(1)[0][0], 3, "first").base == 4

    def test_what_somebody_read_stays_as_it_was(self, store: ParameterStore) -> None:
        store.begin(vector(1), no_memory(), 0)
        stored = store.read()
        receipt = store.assimilate(vc_asgd(0.5), results(1)[0][0], 0, "a")
        kept = receipt.weights.copy()
        store.assimilate(vc_asgd(0.5), results(2)[1][0], 0, "b")
        np.testing.assert_array_equal(stored.weights, vector(1))
        np.testing.assert_array_equal(receipt.weights, kept)

    def test_vectors_of_another_model_are_refused_and_change_nothing(self, store: ParameterStore) -> None:
        store.begin(vector(1), no_memory(), 0)
        wrong = np.zeros(SIZE - 1, np.float32)
        for result in (
            ClientResult(wrong, wrong),
            ClientResult(vector(2), wrong),
            ClientResult(wrong, vector(2)),
        ):
            for recipe in (vc_asgd(), warm_start(vc_asgd())):
                with pytest.raises(ValueError, match="different models"):
                    store.assimilate(recipe, result, 0, "a")
        np.testing.assert_array_equal(store.read().weights, vector(1))
        assert store.read().base == 0
