"""The pool of parameter servers of one task: queues results, and adapts the number of servers."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import structlog

from backend.errors import StoreError
from backend.numerics.aggregation.asynchronous import ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import USUAL, Pool, PoolRules, PoolWindow
from backend.server.units.parameters.parameter_server import (
    AssimilationJob,
    InProcessServer,
    ParameterServer,
    ProcessServer,
    Recipe,
)
from backend.server.units.parameters.reorder_buffer import ReorderBuffer
from backend.server.units.parameters.shared_lock import SharedLock
from backend.stores.parameters.contract import (
    REMEMBERED_RESULTS,
    ParametersGoneError,
    ParameterStore,
    Receipt,
    StoredParameters,
)
from backend.stores.parameters.place import MEMORY, ParameterAddress

log = structlog.stdlib.get_logger("minga.units")


@dataclass(frozen=True)
class ParameterDeployment:
    """Where the tasks of this server store their parameters, and how many parameter servers each may have.

    `address` is valid by `check_address`; it may contain a password.
    """

    address: str = field(default=MEMORY, repr=False)
    rules: PoolRules = USUAL

    def place(self, task: str) -> ParameterAddress:
        """Returns the store's address for a task that is being loaded."""
        return ParameterAddress(self.address, task, secrets.token_hex(8))

    def servers(self, place: ParameterAddress, recipe: Recipe) -> ParameterServers:
        """Returns the parameter servers of the task at `place`, which do not run yet."""
        return ParameterServers(place, recipe, self.rules)


IN_MEMORY = ParameterDeployment()


class ParameterServers:
    """Owns the servers and the host's own store. All methods run in one event loop.

    `lost` counts the results that servers overwrote, with those before `begin`; so do receipts. They are
    released in the order of their bases: when a receipt arrives, so have those of all results in its weights.
    """

    def __init__(self, place: ParameterAddress, recipe: Recipe, rules: PoolRules = USUAL) -> None:
        self._place, self._recipe = place, recipe
        self._rules = rules
        self._log = log.bind(task=place.task)
        self._pool = Pool(self._rules)
        self._store: ParameterStore | None = None
        self._store_thread = ThreadPoolExecutor(1, f"parameters-{place.task}")
        self._queue: asyncio.Queue[tuple[AssimilationJob, asyncio.Future[Receipt]]] = asyncio.Queue()
        self._workers: list[PoolWorker] = []
        self._resizing: asyncio.Task[None] | None = None
        self._reorder_buffer: ReorderBuffer[tuple[Receipt, asyncio.Future[Receipt]]] = ReorderBuffer()
        self._stopping: set[asyncio.Task[None]] = set()
        # Results in the parameters that the store began with, when it was emptied.
        self._held_before: tuple[str, ...] = ()
        self._last_held: tuple[str, ...] = ()
        self._restoring, self._stopped = asyncio.Lock(), False
        # A shift holds it exclusively.
        self._running = SharedLock()
        self._last: StoredParameters | None = None
        self._busy_seconds, self._assimilated, self._window_began = 0.0, 0, 0.0
        # Results lost before the store was emptied.
        self._lost_before = 0.0
        self.lost = 0.0

    @property
    def backlog(self) -> int:
        """Number of results that wait for a free server."""
        return self._queue.qsize()

    @property
    def count(self) -> int:
        """Number of servers."""
        return len(self._workers)

    async def begin(self, weights: Vector, memory: Memory, base: int, lost: float = 0.0) -> None:
        """Writes the parameters into the store, and starts the servers. Raises StoreError.

        `lost` of the results that `base` counts are not in the weights, since servers overwrote them.
        """
        await self._begin_store(StoredParameters(weights, memory, base))
        self.lost = self._lost_before = lost
        if self._resizing is None:
            self._resize(self._pool.count)
            self._resizing = asyncio.create_task(self._resize_periodically())

    async def read(self) -> StoredParameters:
        """Reads the parameters from the store. Raises StoreError."""
        return await asyncio.get_running_loop().run_in_executor(self._store_thread, self._opened_store().read)

    async def assimilate(self, result: ClientResult, base: int, result_id: str) -> Receipt:
        """Adds a result that was trained from `base` to the model; see ParameterStore.assimilate.

        Raises StoreError if the store cannot be reached; a retry with the same `result_id` counts once.
        Raises ValueError if the vectors differ in length.
        """
        return await self._queued(AssimilationJob(result, base, result_id))

    async def shift(self, change: Vector, shift_id: str) -> Receipt:
        """Adds `change`, float32 [P], to the weights as one more version; the memory stays the same.

        It runs alone, after the results that were queued before it and before those queued after it, so that
        no server overwrites it in an eventually consistent store (Redis). The receipt's `staleness` counts
        the results between the newest receipt at the time of the call and the shift.

        Raises what `assimilate` raises; a retry with the same `shift_id` counts once. If a server died or
        gave up just before, Redis may still execute its write after the shift. `lost` of the next receipt is
        then higher, and another call with the same `shift_id` adds the change again where it was lost.
        """
        base = self._last.base if self._last else 0
        return await self._queued(
            AssimilationJob(ClientResult(change, np.zeros_like(change)), base, shift_id, shift=True)
        )

    async def stop(self) -> None:
        """Ends the servers after their current results, and clears the store.

        Results that still wait are cancelled.
        """
        if self._stopped:
            return
        self._stopped = True
        if self._resizing:
            self._resizing.cancel()
        self._resize(0)
        await asyncio.gather(*self._stopping)
        while not self._queue.empty():
            self._queue.get_nowait()[1].cancel()
        if self._store:
            await asyncio.get_running_loop().run_in_executor(
                self._store_thread, self._clear_store, self._store
            )
        self._store_thread.shutdown(wait=False)

    async def serve(self, worker: PoolWorker) -> None:
        """Gives one server the results of the queue until the server is ended."""
        while not worker.stopping:
            job, future = await self._queue.get()
            worker.since = _now()
            try:
                async with self._running.held(exclusive=job.shift):
                    await self._finish(worker, job, future)
            finally:
                self._busy_seconds += _now() - max(worker.since, self._window_began)
                worker.since = None

    async def _queued(self, job: AssimilationJob) -> Receipt:
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((job, answer))
        return await answer

    async def _finish(
        self, worker: PoolWorker, job: AssimilationJob, future: asyncio.Future[Receipt]
    ) -> None:
        """Does a job, and releases the receipts that are due."""
        number = self._reorder_buffer.begin()
        try:
            receipt = await self._attempt(worker, job)
        except (StoreError, ValueError) as error:
            due = self._reorder_buffer.fail(number)
            if not future.done():
                future.set_exception(error)
        else:
            receipt = self._count(receipt)
            due = self._reorder_buffer.end(number, receipt.base, (receipt, future))
        for due_receipt, due_future in due:
            if not due_future.done():
                due_future.set_result(due_receipt)

    async def _attempt(self, worker: PoolWorker, job: AssimilationJob) -> Receipt:
        try:
            return await worker.do(job)
        except ParametersGoneError:
            await self._restore_store()
            return await worker.do(job)

    def _count(self, receipt: Receipt) -> Receipt:
        """Returns the receipt with what was lost and held before the store began, too."""
        held = None if receipt.held is None else (*self._held_before, *receipt.held)
        receipt = replace(receipt, lost=self._lost_before + receipt.lost, held=held)
        self._assimilated += 1
        if self._last is None or receipt.base > self._last.base:
            self._last = StoredParameters(receipt.weights, receipt.memory, receipt.base)
            self._last_held = (held or ())[-REMEMBERED_RESULTS:]
            self.lost = receipt.lost
        return receipt

    async def _begin_store(self, stored: StoredParameters) -> None:
        def begin() -> None:
            self._store = self._store or self._place.open()
            self._store.begin(stored.weights, stored.memory, stored.base)

        await asyncio.get_running_loop().run_in_executor(self._store_thread, begin)
        self._last, self._lost_before, self._held_before = stored, self.lost, self._last_held

    async def _restore_store(self) -> None:
        """Writes the parameters of the last receipt into a store that lost its contents."""
        async with self._restoring:
            with suppress(ParametersGoneError):
                await self.read()
                return
            if self._last is None:
                raise ParametersGoneError("Nobody began with parameters.")
            self._log.warning("the parameter store is empty; going back to the last parameters read")
            await self._begin_store(self._last)

    def _clear_store(self, store: ParameterStore) -> None:
        """Clears and closes the store; the host's checkpoint holds the parameters."""
        try:
            store.clear()
        except StoreError as error:
            self._log.warning("parameters stay in their store", error=str(error))
        store.close()

    def _opened_store(self) -> ParameterStore:
        if self._store is None:
            raise ParametersGoneError("Nobody began with parameters.")
        return self._store

    async def _resize_periodically(self) -> None:
        self._window_began, lost_before = _now(), self.lost
        while True:
            await asyncio.sleep(self._rules.window)
            now = _now()
            starts = (worker.since for worker in self._workers)
            busy = self._busy_seconds + sum(
                now - max(since, self._window_began) for since in starts if since is not None
            )
            assimilated = self._assimilated - (self.lost - lost_before)
            self._resize(self._pool.update(PoolWindow(assimilated, busy, self.backlog)))
            self._busy_seconds, self._assimilated, self._window_began, lost_before = 0.0, 0, now, self.lost

    def _resize(self, count: int) -> None:
        if count != self.count:
            self._log.info("parameter servers", count=count, backlog=self.backlog)
        while self.count < count:
            self._workers.append(PoolWorker(self, self._server()))
        while self.count > count:
            stopping = asyncio.create_task(self._workers.pop().end())
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)

    def _server(self) -> ParameterServer:
        if self._place.shared:
            return ProcessServer(self._place, self._recipe)
        return InProcessServer(self._opened_store(), self._recipe)


class PoolWorker:
    """Owns a server, its thread and the task that gives it results.

    `since` is when the current result began (event loop's clock); None while the server is idle.
    """

    def __init__(self, servers: ParameterServers, server: ParameterServer) -> None:
        self._server = server
        self._thread = ThreadPoolExecutor(1, "parameter-server")
        self.since: float | None = None
        self.stopping = False
        self._task = asyncio.create_task(servers.serve(self))

    async def do(self, job: AssimilationJob) -> Receipt:
        """Assimilates a result in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._server.do, job)

    async def end(self) -> None:
        """Ends the server after its current result."""
        self.stopping = True
        if self.since is None:
            self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        await asyncio.get_running_loop().run_in_executor(self._thread, self._server.close)
        self._thread.shutdown(wait=False)


def _now() -> float:
    """Returns the time of the event loop in seconds."""
    return asyncio.get_running_loop().time()
