"""Parameters in Redis, whole and in shards. What servers write over each other's results is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
import redis as redis_client

from backend.errors import StoreError, TakenOverError
from backend.numerics.aggregation.asynchronous import (
    Assimilate,
    ClientResult,
    Memory,
    downpour,
    fedbuff,
    no_memory,
    shifted,
)
from backend.numerics.vectors import Vector
from backend.stores.parameters.contract import ParametersGoneError, ParameterStore
from backend.stores.parameters.in_redis import RedisParameters
from tests.support.environment.databases import Redis, serving_redis
from tests.support.store_contracts.parameters import SIZE, ParameterStoreContract

ZEROS = np.zeros(SIZE, np.float32)
ONE = ClientResult(np.ones(SIZE, np.float32), ZEROS)
SHARDS = 5


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with serving_redis() as server:
        yield server


@pytest.fixture
def open_store(redis: Redis) -> Iterator[Callable[..., RedisParameters]]:
    """Opens stores of one task, which is cleared afterwards."""
    stores: list[RedisParameters] = []

    def open_one(shards: int = 1, run: str = "run") -> RedisParameters:
        stores.append(RedisParameters(redis.address, "digits", run, shards))
        return stores[-1]

    yield open_one
    for store in stores:
        store.clear()
        store.close()


class TestParametersInRedis(ParameterStoreContract):
    @pytest.fixture
    def store(self, open_store: Callable[..., RedisParameters]) -> ParameterStore:
        return open_store()


class TestParametersInShards(ParameterStoreContract):
    @pytest.fixture
    def store(self, open_store: Callable[..., RedisParameters]) -> ParameterStore:
        return open_store(SHARDS)


def meanwhile(recipe: Assimilate, at: int, do: Callable[[], object]) -> Assimilate:
    """`recipe`, and `do` before its call number `at`: once a shard was read, and before it is written."""
    calls = iter(range(1000))

    def assimilate(params: Vector, result: ClientResult, memory: Memory) -> tuple[Vector, Memory]:
        if next(calls) == at:
            do()
        return recipe(params, result, memory)

    return assimilate


def test_a_result_that_comes_between_reading_and_writing_is_lost_and_counted(
    open_store: Callable[..., RedisParameters],
) -> None:
    slow, quick = open_store(), open_store()
    slow.begin(ZEROS, no_memory(), 0)
    recipe = meanwhile(downpour(), 0, lambda: quick.assimilate(downpour(), ONE, 0, "lost"))
    receipt = slow.assimilate(recipe, ONE, 0, "kept")
    assert (receipt.base, receipt.lost, receipt.held) == (2, 1, ("kept",))
    np.testing.assert_array_equal(slow.read().weights, ONE.weights)
    # One that was lost is none that was taken in: whoever brings it again, brings it.
    again = quick.assimilate(downpour(), ONE, 0, "lost")
    assert (again.base, again.lost, again.held) == (3, 1, ("kept", "lost"))
    np.testing.assert_array_equal(slow.read().weights, 2 * ONE.weights)


@pytest.mark.parametrize("shards", [1, SHARDS])
def test_a_shift_that_was_written_over_is_counted_and_can_be_brought_again(
    open_store: Callable[..., RedisParameters], shards: int
) -> None:
    slow, quick = open_store(shards), open_store(shards)
    slow.begin(ZEROS, no_memory(), 0)
    change = ClientResult(8 * ONE.weights, ZEROS)
    recipe = meanwhile(downpour(), 0, lambda: quick.assimilate(shifted, change, 0, "shift"))
    receipt = slow.assimilate(recipe, ONE, 0, "result")
    assert receipt.lost > 0
    again = quick.assimilate(shifted, change, 0, "shift")
    assert again.lost == receipt.lost
    np.testing.assert_array_equal(slow.read().weights, 9 * ONE.weights)


def test_of_shards_that_part_is_lost_that_was_written_over(
    open_store: Callable[..., RedisParameters],
) -> None:
    slow, quick = open_store(SHARDS), open_store(SHARDS)
    slow.begin(ZEROS, no_memory(), 0)
    recipe = meanwhile(downpour(), 2, lambda: quick.assimilate(downpour(), ONE, 0, "partly lost"))
    receipt = slow.assimilate(recipe, ONE, 0, "kept")
    weights = slow.read().weights
    lost = int(np.sum(weights == 1))
    assert set(np.unique(weights)) == {1, 2}
    assert SIZE // SHARDS <= lost <= SIZE // SHARDS + 1
    assert (receipt.base, receipt.lost) == (2, lost / SIZE)


def test_whoever_writes_last_decides_what_is_lost(open_store: Callable[..., RedisParameters]) -> None:
    """Three read the same: the first two are lost, and none of them is counted twice."""
    stores = [open_store() for _ in range(3)]
    stores[0].begin(ZEROS, no_memory(), 0)
    first = lambda: stores[0].assimilate(downpour(), ONE, 0, "first")  # noqa: E731
    second = lambda: stores[1].assimilate(meanwhile(downpour(), 0, first), ONE, 0, "second")  # noqa: E731
    receipt = stores[2].assimilate(meanwhile(downpour(), 0, second), ONE, 0, "third")
    assert (receipt.base, receipt.lost) == (3, 2)


def test_a_result_that_was_taken_in_by_some_shards_comes_to_the_others(
    open_store: Callable[..., RedisParameters],
) -> None:
    """As when its server was killed half-way."""
    store, zeros = open_store(SHARDS), np.zeros(SIZE, np.float32)
    store.begin(zeros, no_memory(), 0)

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.assimilate(meanwhile(downpour(), 3, die), ONE, 0, "a")
    assert store.read().base == 0
    receipt = store.assimilate(downpour(), ONE, 0, "a")
    assert (receipt.base, receipt.lost) == (1, 0)
    np.testing.assert_array_equal(receipt.weights, ONE.weights)


def test_stores_of_the_run_before_write_nothing_any_more(
    open_store: Callable[..., RedisParameters],
) -> None:
    before, after = open_store(run="before"), open_store(run="after")
    before.begin(ZEROS, no_memory(), 0)
    recipe = meanwhile(downpour(), 0, lambda: after.begin(ONE.weights, no_memory(), 9))
    with pytest.raises(TakenOverError):
        before.assimilate(recipe, ONE, 0, "a")
    with pytest.raises(TakenOverError):
        before.read()
    before.clear()
    assert after.read().base == 9
    np.testing.assert_array_equal(after.read().weights, ONE.weights)


def test_fewer_shards_than_before_leave_nothing_behind(
    redis: Redis, open_store: Callable[..., RedisParameters]
) -> None:
    open_store(SHARDS).begin(ZEROS, no_memory(), 0)
    store = open_store(2)
    store.begin(ZEROS, no_memory(), 0)
    assert store.read().base == 0
    store.clear()
    with redis_client.Redis(port=redis.port) as look:
        assert look.keys("*") == []


def test_tasks_do_not_meet(redis: Redis, open_store: Callable[..., RedisParameters]) -> None:
    store, other = open_store(), RedisParameters(redis.address, "faces", "run")
    store.begin(ZEROS, no_memory(), 0)
    with pytest.raises(ParametersGoneError):
        other.read()
    other.close()


def test_a_model_that_is_too_long_for_one_value_wants_shards(
    open_store: Callable[..., RedisParameters],
) -> None:
    long = np.zeros(128 << 20, np.float32)
    with pytest.raises(StoreError, match="shards=16"):
        open_store().begin(long, no_memory(), 0)


def test_redis_that_is_not_there_is_a_sentence() -> None:
    with serving_redis() as gone:
        store = RedisParameters(gone.address, "digits", "run")
        store.begin(ZEROS, no_memory(), 0)
        gone.stop()
        with pytest.raises(StoreError, match="Redis cannot be used"):
            store.read()
        gone.start()
        with pytest.raises(ParametersGoneError):
            store.assimilate(fedbuff(), ONE, 0, "a")
        store.close()
