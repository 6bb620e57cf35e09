"""Parameters in the server's own process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from backend.numerics.aggregation.asynchronous import ClientResult, downpour, no_memory
from backend.stores.parameters.contract import ParameterStore
from backend.stores.parameters.memory import MemoryParameters
from tests.support.store_contracts.parameters import SIZE, ParameterStoreContract


class TestParametersInMemory(ParameterStoreContract):
    @pytest.fixture
    def store(self) -> ParameterStore:
        return MemoryParameters()


def test_threads_lose_nothing() -> None:
    store, zeros = MemoryParameters(), np.zeros(SIZE, np.float32)
    store.begin(zeros, no_memory(), 0)
    one = ClientResult(np.ones(SIZE, np.float32), zeros)
    with ThreadPoolExecutor(4) as threads:
        receipts = list(threads.map(lambda turn: store.assimilate(downpour(), one, 0, str(turn)), range(40)))
    assert {receipt.base for receipt in receipts} == set(range(1, 41))
    np.testing.assert_array_equal(store.read().weights, np.full(SIZE, 40, np.float32))
