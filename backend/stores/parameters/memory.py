"""Holds parameters in the server's own process: the default, and strongly consistent."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from threading import Lock

from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.stores.parameters.contract import (
    REMEMBERED_RESULTS,
    ParametersGoneError,
    Receipt,
    StoredParameters,
    check_fit,
)


class MemoryParameters:
    """A `ParameterStore` for any number of threads. It replaces vectors and never writes into them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._stored: StoredParameters | None = None
        self._result_ids: deque[str] = deque(maxlen=REMEMBERED_RESULTS)

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """See ParameterStore."""
        with self._lock:
            self._stored = StoredParameters(weights, memory, base)
            self._result_ids.clear()

    def read(self) -> StoredParameters:
        """See ParameterStore."""
        with self._lock:
            return self._require_stored()

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, result_id: str) -> Receipt:
        """See ParameterStore. No result is lost, because a lock serialises the threads."""
        started = time.perf_counter()
        with self._lock:
            before = self._require_stored()
            check_fit(result, len(before.weights))
            staleness = before.base - base
            if result_id not in self._result_ids:
                weights, memory = recipe(before.weights, replace(result, staleness=staleness), before.memory)
                self._stored = before = StoredParameters(weights, memory, before.base + 1)
                self._result_ids.append(result_id)
            else:
                staleness -= 1
        return Receipt(
            before.weights,
            before.memory,
            before.base,
            staleness=max(0, staleness),
            lost=0.0,
            seconds=time.perf_counter() - started,
        )

    def clear(self) -> None:
        """See ParameterStore."""
        with self._lock:
            self._stored = None

    def close(self) -> None:
        """See ParameterStore."""

    def _require_stored(self) -> StoredParameters:
        if self._stored is None:
            raise ParametersGoneError(
                "No parameters are stored in memory yet; the task's host stores the first."
            )
        return self._stored
