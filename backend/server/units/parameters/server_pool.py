"""The pool of parameter servers of one task: a queue of results, and as many servers as it needs."""

from __future__ import annotations

import asyncio
import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import USUAL, Pool, PoolRules, PoolWindow
from backend.server.units.parameters.parameter_server import (
    AssimilationJob,
    ParameterServer,
    Recipe,
    ServerApart,
    ServerHere,
)
from backend.stores.parameters.contract import (
    ParametersGoneError,
    ParameterStore,
    Receipt,
    StoredParameters,
)
from backend.stores.parameters.place import MEMORY, ParameterAddress

log = structlog.stdlib.get_logger("minga.units")

T = TypeVar("T")


@dataclass(frozen=True)
class ParameterDeployment:
    """Where a server's tasks keep their parameters, and how many parameter servers each may have.

    `address` is one that check_address takes; it may have a password in it.
    """

    address: str = field(default=MEMORY, repr=False)
    rules: PoolRules = USUAL

    def place(self, task: str) -> ParameterAddress:
        """The place of a task that is loaded now."""
        return ParameterAddress(self.address, task, secrets.token_hex(8))


IN_MEMORY = ParameterDeployment()


@dataclass(frozen=True)
class _Ready(Generic[T]):
    base: int
    number: int
    before: frozenset[int]
    value: T


class ReorderBuffer(Generic[T]):
    """Releases the values of concurrent jobs, each of which ends with a `base`, lowest base first.

    A job with a lower base than one that ended was running at that moment, or ended earlier: each value waits
    for the jobs that were running when it finished. Otherwise the newest weights could contain results whose
    receipts have not arrived.
    """

    def __init__(self) -> None:
        self._begun = 0
        self._working: set[int] = set()
        self._ready: list[_Ready[T]] = []

    def begin(self) -> int:
        """Somebody begins; its number, for `end` or `fail`."""
        self._begun += 1
        self._working.add(self._begun)
        return self._begun

    def end(self, number: int, base: int, value: T) -> list[T]:
        """It ended; what can be handed out now."""
        self._working.remove(number)
        self._ready.append(_Ready(base, number, frozenset(self._working), value))
        return self._due()

    def fail(self, number: int) -> list[T]:
        """It ended with nothing; what can be handed out now."""
        self._working.remove(number)
        return self._due()

    def _due(self) -> list[T]:
        self._ready.sort(key=lambda one: (one.base, one.number))
        due: list[T] = []
        while self._ready and not self._ready[0].before & self._working:
            due.append(self._ready.pop(0).value)
        return due


class ParameterServers:
    """Owns the servers and the host's own store. All methods are of one event loop.

    `lost` are results that servers wrote over, of those since `begin`. Receipts come in the order of their
    bases, so that whoever has one knows all that is in its weights.
    """

    def __init__(self, place: ParameterAddress, recipe: Recipe, rules: PoolRules = USUAL) -> None:
        self._place, self._recipe = place, recipe
        self._rules = rules
        self._log = log.bind(task=place.task)
        self._pool = Pool(self._rules)
        self._store: ParameterStore | None = None
        self._own = ThreadPoolExecutor(1, f"parameters-{place.task}")
        self._queue: asyncio.Queue[tuple[AssimilationJob, asyncio.Future[Receipt]]] = asyncio.Queue()
        self._serving: list[_Serving] = []
        self._watch: asyncio.Task[None] | None = None
        self._order: ReorderBuffer[tuple[Receipt, asyncio.Future[Receipt]]] = ReorderBuffer()
        self._leaving: set[asyncio.Task[None]] = set()
        self._again, self._stopped = asyncio.Lock(), False
        self._last: StoredParameters | None = None
        self._busy, self._done, self._looked = 0.0, 0, 0.0
        # Those of before the store was emptied.
        self._lost_before = 0.0
        self.lost = 0.0

    @property
    def backlog(self) -> int:
        """Results that wait for a server that is free."""
        return self._queue.qsize()

    @property
    def count(self) -> int:
        """Servers there are now."""
        return len(self._serving)

    async def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """Sets what stands in the store, and starts the servers. Raises StoreError."""
        await self._begin(StoredParameters(weights, memory, base))
        self.lost = self._lost_before = 0.0
        if self._watch is None:
            self._resize(self._pool.count)
            self._watch = asyncio.create_task(self._look())

    async def read(self) -> StoredParameters:
        """What stands in the store now. Raises StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._own, self._opened_store().read)

    async def assimilate(self, result: ClientResult, base: int, turn: str) -> Receipt:
        """Adds a result that was trained from `base` to the model; see ParameterStore.assimilate.

        Raises StoreError where the store cannot be reached: the same `turn` may be given again later, and
        counts once. Raises ValueError where the vectors are of unlike lengths.
        """
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((AssimilationJob(result, base, turn), answer))
        return await answer

    async def stop(self) -> None:
        """Ends the servers once they are done with what they have, and clears the store.

        What still waits is cancelled.
        """
        if self._stopped:
            return
        self._stopped = True
        if self._watch:
            self._watch.cancel()
        self._resize(0)
        await asyncio.gather(*self._leaving)
        while not self._queue.empty():
            self._queue.get_nowait()[1].cancel()
        if self._store:
            await asyncio.get_running_loop().run_in_executor(self._own, self._leave, self._store)
        self._own.shutdown(wait=False)

    async def take_turns(self, serving: _Serving) -> None:
        """What one server does until it is ended."""
        while not serving.leaving:
            job, answer = await self._queue.get()
            serving.since, number = time.monotonic(), self._order.begin()
            try:
                receipt = await self._attempt(serving, job)
            except (StoreError, ValueError) as error:
                due = self._order.fail(number)
                if not answer.done():
                    answer.set_exception(error)
            else:
                self._took(receipt)
                due = self._order.end(number, receipt.base, (receipt, answer))
            finally:
                self._busy += time.monotonic() - max(serving.since, self._looked)
                serving.since = None
            for receipt, waiting in due:
                if not waiting.done():
                    waiting.set_result(receipt)

    async def _attempt(self, serving: _Serving, job: AssimilationJob) -> Receipt:
        try:
            return await serving.do(job)
        except ParametersGoneError:
            await self._begin_again()
            return await serving.do(job)

    def _took(self, receipt: Receipt) -> None:
        self._done += 1
        if self._last is None or receipt.base > self._last.base:
            self._last = StoredParameters(receipt.weights, receipt.memory, receipt.base)
            self.lost = self._lost_before + receipt.lost

    async def _begin(self, stored: StoredParameters) -> None:
        def begin() -> None:
            self._store = self._store or self._place.open()
            self._store.begin(stored.weights, stored.memory, stored.base)

        await asyncio.get_running_loop().run_in_executor(self._own, begin)
        self._last, self._lost_before = stored, self.lost

    async def _begin_again(self) -> None:
        """A database that lost its contents gets back what was in the last receipt."""
        async with self._again:
            with suppress(ParametersGoneError):
                await self.read()
                return
            if self._last is None:
                raise ParametersGoneError("Nobody began with parameters.")
            self._log.warning("the parameter store was emptied; it goes on from what was read last")
            await self._begin(self._last)

    def _leave(self, store: ParameterStore) -> None:
        """Leaves nothing behind: what counts, is in the host's checkpoint."""
        try:
            store.clear()
        except StoreError as error:
            self._log.warning("parameters stay in their store", error=str(error))
        store.close()

    def _opened_store(self) -> ParameterStore:
        if self._store is None:
            raise ParametersGoneError("Nobody began with parameters.")
        return self._store

    async def _look(self) -> None:
        self._looked, lost = time.monotonic(), self.lost
        while True:
            await asyncio.sleep(self._rules.window)
            now = time.monotonic()
            working = (serving.since for serving in self._serving)
            busy = self._busy + sum(now - max(since, self._looked) for since in working if since is not None)
            kept = self._done - (self.lost - lost)
            self._resize(self._pool.looked(PoolWindow(kept, busy, self.backlog)))
            self._busy, self._done, self._looked, lost = 0.0, 0, now, self.lost

    def _resize(self, count: int) -> None:
        if count != self.count:
            self._log.info("parameter servers", count=count, backlog=self.backlog)
        while self.count < count:
            self._serving.append(_Serving(self, self._server()))
        while self.count > count:
            leaving = asyncio.create_task(self._serving.pop().end())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    def _server(self) -> ParameterServer:
        if self._place.shared:
            return ServerApart(self._place, self._recipe)
        return ServerHere(self._opened_store(), self._recipe)


class _Serving:
    """Owns a server, its thread and the task that gives it work, since `since`; None: it waits for some."""

    def __init__(self, servers: ParameterServers, server: ParameterServer) -> None:
        self._server = server
        self._thread = ThreadPoolExecutor(1, "parameter-server")
        self.since: float | None = None
        self.leaving = False
        self._task = asyncio.create_task(servers.take_turns(self))

    async def do(self, job: AssimilationJob) -> Receipt:
        """Assimilates in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._server.do, job)

    async def end(self) -> None:
        """Ends it, once it is done with what it has."""
        self.leaving = True
        if self.since is None:
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await asyncio.get_running_loop().run_in_executor(self._thread, self._server.close)
        self._thread.shutdown(wait=False)
