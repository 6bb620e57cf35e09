"""A parameter server: assimilates in a thread, or in a separate process if the store is shared."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Protocol, TypeAlias

import numpy as np

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory, shifted
from backend.numerics.vectors import Vector
from backend.stores.parameters.contract import ParameterStore, Receipt, check_fit
from backend.stores.parameters.place import ParameterAddress

# Makes the assimilation in any process, so it must be picklable (a partial, a method of a Struct).
Recipe: TypeAlias = Callable[[], Assimilate]

END_SECONDS = 10.0


@dataclass(frozen=True)
class AssimilationJob:
    """A result to be assimilated; see ParameterStore.assimilate.

    With `shift` it is no client's result, but weights minus base are added to the model; see `shifted`.
    """

    result: ClientResult
    base: int
    result_id: str
    shift: bool = False


class ParameterServer(Protocol):
    """Used by one thread at a time; calls block."""

    def do(self, job: AssimilationJob) -> Receipt:
        """Assimilates. Raises what the store raises."""
        ...

    def close(self) -> None:
        """Ends the server."""
        ...


class InProcessServer:
    """Assimilates in the calling thread, into a store that it does not own."""

    def __init__(self, store: ParameterStore, recipe: Recipe) -> None:
        self._store, self._recipe = store, recipe()

    def do(self, job: AssimilationJob) -> Receipt:
        """See ParameterServer."""
        recipe = shifted if job.shift else self._recipe
        return self._store.assimilate(recipe, job.result, job.base, job.result_id)

    def close(self) -> None:
        """See ParameterServer."""


class ProcessServer:
    """Owns a daemon process with its own store, started on demand. It ends with this process.

    Vectors travel in shared memory: a pipe would need many switches between the processes for them.
    """

    def __init__(self, place: ParameterAddress, recipe: Recipe) -> None:
        self._place, self._recipe = place, recipe
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None
        self._vectors: SharedVectors | None = None

    def do(self, job: AssimilationJob) -> Receipt:
        """See ParameterServer. Raises StoreError if the process died; the next call starts another."""
        result = job.result
        check_fit(result, len(result.weights))
        vectors = self._vectors
        if vectors is None or vectors.size != len(result.weights):
            vectors = self._start(len(result.weights))
        vectors.weights[:], vectors.base[:] = result.weights, result.base
        answer = self._answer(_Request(result.epoch, job.base, job.result_id, job.shift))
        if isinstance(answer, Exception):
            raise answer
        return Receipt(
            vectors.weights.copy(),
            Memory(vectors.slot[: answer.slot].copy(), answer.count),
            answer.base,
            staleness=answer.staleness,
            lost=answer.lost,
            seconds=answer.seconds,
            held=answer.held,
        )

    def close(self) -> None:
        """See ParameterServer."""
        if self._connection:
            self._connection.close()
        if self._process:
            self._process.join(END_SECONDS)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process.close()
        self._connection = self._process = self._vectors = None

    def _start(self, size: int) -> SharedVectors:
        self.close()
        context = multiprocessing.get_context("spawn")
        self._connection, child_end = context.Pipe()
        self._vectors = SharedVectors(context, size)
        self._process = context.Process(
            target=_serve,
            args=(child_end, self._vectors, self._place, self._recipe),
            name="parameter-server",
            daemon=True,
        )
        self._process.start()
        child_end.close()
        return self._vectors

    def _answer(self, request: _Request) -> _Answer | Exception:
        assert self._connection is not None  # noqa: S101 - opened with the vectors.
        try:
            self._connection.send(request)
            answer: _Answer | Exception = self._connection.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise StoreError("A parameter server's process died. Look for what ended it.") from error
        return answer


class SharedVectors:
    """Three float32 vectors [size] that two processes share.

    `weights` and `base` are sent to the server, `weights` and `slot` back. The memory is freed when neither
    process refers to it.
    """

    def __init__(self, context: SpawnContext, size: int) -> None:
        self.size = size
        self._memory = context.RawArray("f", 3 * size)

    @property
    def weights(self) -> Vector:
        """The weights of the result before the assimilation, of the model after it."""
        return self._part(0)

    @property
    def base(self) -> Vector:
        """The weights that the result was trained from."""
        return self._part(1)

    @property
    def slot(self) -> Vector:
        """The slot of the memory after the assimilation."""
        return self._part(2)

    def _part(self, number: int) -> Vector:
        return np.frombuffer(self._memory, np.float32)[number * self.size : (number + 1) * self.size]


@dataclass(frozen=True)
class _Request:
    epoch: int
    base: int
    result_id: str
    shift: bool


@dataclass(frozen=True)
class _Answer:
    """A receipt whose vectors are in shared memory. `slot` is the slot's length, `count` the memory's."""

    slot: int
    count: int
    base: int
    staleness: int
    lost: float
    seconds: float
    held: tuple[str, ...] | None


def _serve(connection: Connection, vectors: SharedVectors, place: ParameterAddress, recipe: Recipe) -> None:
    """Serves requests in the process until the other end of `connection` is closed."""
    # An interrupt at the terminal is meant for the server's main process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assimilate = recipe()
    store: ParameterStore | None = None
    while True:
        try:
            request: _Request = connection.recv()
        except EOFError:
            break
        try:
            store = store or place.open()
            answer: _Answer | Exception = _execute(request, vectors, store, assimilate)
        except (StoreError, ValueError) as error:
            answer = error
        try:
            connection.send(answer)
        except OSError:
            break
    if store:
        store.close()


def _execute(
    request: _Request, vectors: SharedVectors, store: ParameterStore, assimilate: Assimilate
) -> _Answer:
    recipe = shifted if request.shift else assimilate
    result = ClientResult(vectors.weights, vectors.base, epoch=request.epoch)
    receipt = store.assimilate(recipe, result, request.base, request.result_id)
    slot = receipt.memory.slot
    vectors.weights[:], vectors.slot[: len(slot)] = receipt.weights, slot
    return _Answer(
        slot=len(slot),
        count=receipt.memory.count,
        base=receipt.base,
        staleness=receipt.staleness,
        lost=receipt.lost,
        seconds=receipt.seconds,
        held=receipt.held,
    )
