"""One parameter server: a thread, or a process of its own where the store can be reached from there."""

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
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.stores.parameters.contract import ParameterStore, Receipt, check_fit
from backend.stores.parameters.place import ParameterAddress

# Makes the recipe, in another process, too: it has to be picklable (a partial, a method of a Struct).
Recipe: TypeAlias = Callable[[], Assimilate]

END_SECONDS = 10.0


@dataclass(frozen=True)
class AssimilationJob:
    """A result to be taken in; see ParameterStore.assimilate."""

    result: ClientResult
    base: int
    turn: str


class ParameterServer(Protocol):
    """Used by one thread at a time; calls block."""

    def do(self, job: AssimilationJob) -> Receipt:
        """Assimilates. Raises what the store raises."""
        ...

    def close(self) -> None:
        """Ends it."""
        ...


class ServerHere:
    """Assimilates in the calling thread, into a store that it shares and does not own."""

    def __init__(self, store: ParameterStore, recipe: Recipe) -> None:
        self._store, self._recipe = store, recipe()

    def do(self, job: AssimilationJob) -> Receipt:
        """See ParameterServer."""
        return self._store.assimilate(self._recipe, job.result, job.base, job.turn)

    def close(self) -> None:
        """See ParameterServer."""


class ServerApart:
    """Owns a process with a store of its own there, which ends with this one. It is started when needed.

    Vectors go there and back in memory that both see: a line takes many turns of both for them.
    """

    def __init__(self, place: ParameterAddress, recipe: Recipe) -> None:
        self._place, self._recipe = place, recipe
        self._process: SpawnProcess | None = None
        self._line: Connection | None = None
        self._vectors: SharedVectors | None = None

    def do(self, job: AssimilationJob) -> Receipt:
        """See ParameterServer. Raises StoreError where the process died; the next call starts another."""
        result = job.result
        check_fit(result, len(result.weights))
        vectors = self._vectors
        if vectors is None or vectors.size != len(result.weights):
            vectors = self._start(len(result.weights))
        vectors.weights[:], vectors.base[:] = result.weights, result.base
        answer = self._answer(_Order(result.epoch, job.base, job.turn))
        if isinstance(answer, Exception):
            raise answer
        return Receipt(
            vectors.weights.copy(),
            Memory(vectors.slot[: answer.slot].copy(), answer.count),
            answer.base,
            staleness=answer.staleness,
            lost=answer.lost,
            seconds=answer.seconds,
        )

    def close(self) -> None:
        """See ParameterServer."""
        if self._line:
            self._line.close()
        if self._process:
            self._process.join(END_SECONDS)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._process.close()
        self._line = self._process = self._vectors = None

    def _start(self, size: int) -> SharedVectors:
        self.close()
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._vectors = SharedVectors(context, size)
        self._process = context.Process(
            target=_serve,
            args=(theirs, self._vectors, self._place, self._recipe),
            name="parameter-server",
            daemon=True,
        )
        self._process.start()
        theirs.close()
        return self._vectors

    def _answer(self, order: _Order) -> _Answer | Exception:
        assert self._line is not None  # noqa: S101 - opened with the vectors.
        try:
            self._line.send(order)
            answer: _Answer | Exception = self._line.recv()
        except (EOFError, OSError) as error:
            self.close()
            raise StoreError("A parameter server's process died. Look for what ended it.") from error
        return answer


class SharedVectors:
    """Three vectors [size] that two processes see: `weights` and `base` go there, `weights` and `slot` back.

    It is freed when none of them has it any more.
    """

    def __init__(self, context: SpawnContext, size: int) -> None:
        self.size = size
        self._memory = context.RawArray("f", 3 * size)

    @property
    def weights(self) -> Vector:
        """Of the result, then of the model."""
        return self._part(0)

    @property
    def base(self) -> Vector:
        """Of the result."""
        return self._part(1)

    @property
    def slot(self) -> Vector:
        """Of the memory."""
        return self._part(2)

    def _part(self, number: int) -> Vector:
        return np.frombuffer(self._memory, np.float32)[number * self.size : (number + 1) * self.size]


@dataclass(frozen=True)
class _Order:
    epoch: int
    base: int
    turn: str


@dataclass(frozen=True)
class _Answer:
    """A receipt whose vectors are shared; `slot` is how long it is, `count` the memory's."""

    slot: int
    count: int
    base: int
    staleness: int
    lost: float
    seconds: float


def _serve(line: Connection, vectors: SharedVectors, place: ParameterAddress, recipe: Recipe) -> None:
    """What the process does until the other end of `line` is closed."""
    # Whoever interrupts the server at its terminal, means its own process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assimilate = recipe()
    store: ParameterStore | None = None
    while True:
        try:
            order: _Order = line.recv()
        except EOFError:
            break
        try:
            store = store or place.open()
            answer: _Answer | Exception = _carried_out(order, vectors, store, assimilate)
        except (StoreError, ValueError) as error:
            answer = error
        try:
            line.send(answer)
        except OSError:
            break
    if store:
        store.close()


def _carried_out(order: _Order, vectors: SharedVectors, store: ParameterStore, recipe: Assimilate) -> _Answer:
    result = ClientResult(vectors.weights, vectors.base, epoch=order.epoch)
    receipt = store.assimilate(recipe, result, order.base, order.turn)
    slot = receipt.memory.slot
    vectors.weights[:], vectors.slot[: len(slot)] = receipt.weights, slot
    return _Answer(
        slot=len(slot),
        count=receipt.memory.count,
        base=receipt.base,
        staleness=receipt.staleness,
        lost=receipt.lost,
        seconds=receipt.seconds,
    )
