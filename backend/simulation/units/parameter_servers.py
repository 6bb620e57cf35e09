"""Simulates parameter servers, their store and their machine: real queue, pool and recipes, measured time."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field, replace

from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import Vector
from backend.protocols.units.server_pool import USUAL, PoolRules
from backend.server.units.parameters.parameter_server import AssimilationJob, Recipe
from backend.server.units.parameters.server_pool import ParameterDeployment, ParameterServers, PoolWorker
from backend.simulation.units.server_cores import ServerCores
from backend.simulation.units.store_costs import VALUE_BYTES, StoreCost
from backend.stores.parameters.contract import (
    REMEMBERED_RESULTS,
    ParametersGoneError,
    Receipt,
    StoredParameters,
    check_fit,
)
from backend.stores.parameters.place import MEMORY, ParameterAddress


@dataclass(frozen=True)
class _Content:
    """The content of the store: `contained` counts the results in the weights, `held` names the newest."""

    stored: StoredParameters
    contained: int
    held: tuple[str, ...] = ()


class SimulatedParameters:
    """A `ParameterStore` in which reading and writing are two moments. Implements ParameterStore.

    `read_for` reads for a result, and `assimilate` writes it. A write in between is overwritten and counted
    as lost, as in Redis; callers that hold a lock from one to the other lose nothing.
    """

    def __init__(self, cost: StoreCost) -> None:
        self._cost = cost
        self._content: _Content | None = None
        self._reads: dict[str, _Content] = {}

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """See ParameterStore."""
        self._content = _Content(StoredParameters(weights, memory, base), base)

    def read(self) -> StoredParameters:
        """See ParameterStore."""
        return self._require().stored

    def read_for(self, result_id: str) -> float:
        """Reads the parameters for a result; returns the seconds that its assimilation takes."""
        content = self._reads[result_id] = self._require()
        values = len(content.stored.weights) + len(content.stored.memory.slot)
        return self._cost.seconds(VALUE_BYTES * values)

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, result_id: str) -> Receipt:
        """See ParameterStore. Writes what the recipe makes of the parameters that `read_for` read."""
        before, now = self._reads.pop(result_id, self._require()), self._require()
        check_fit(result, len(before.stored.weights))
        staleness = before.stored.base - base
        if result_id in before.held:
            staleness -= 1
        else:
            given = replace(result, staleness=staleness)
            weights, memory = recipe(before.stored.weights, given, before.stored.memory)
            held = deque((*before.held, result_id), REMEMBERED_RESULTS)
            stored = StoredParameters(weights, memory, now.stored.base + 1)
            now = self._content = _Content(stored, before.contained + 1, tuple(held))
        return Receipt(
            now.stored.weights,
            now.stored.memory,
            now.stored.base,
            staleness=max(0, staleness),
            lost=float(now.stored.base - now.contained),
            seconds=self._cost.seconds(VALUE_BYTES * len(now.stored.weights)),
            held=now.held if self._cost.loses_results else None,
        )

    def clear(self) -> None:
        """See ParameterStore."""
        self._content = None

    def close(self) -> None:
        """See ParameterStore."""

    def _require(self) -> _Content:
        if self._content is None:
            raise ParametersGoneError("The simulated store holds no parameters; the host begins with them.")
        return self._content


@dataclass(frozen=True)
class SimulatedPlace(ParameterAddress):
    """The place of a task's parameters in a simulation: one store, used by all servers.

    The store holds a vector that may stand for one `scale` times as long.
    """

    cost: StoreCost = field(kw_only=True)
    scale: float = field(kw_only=True)
    parameters: SimulatedParameters = field(kw_only=True)

    @property
    def loses_results(self) -> bool:
        """See ParameterAddress."""
        return self.cost.loses_results

    def open(self) -> SimulatedParameters:
        """See ParameterAddress."""
        return self.parameters


@dataclass
class ServerUsage:
    """The use of the parameter servers: seconds of all of them together, and those with a result.

    A server that waits for a lock or a core has a result. `most` is the largest number of servers. `queues`
    has for each result the number of those that waited for a free server when it arrived.
    """

    seconds: float = 0.0
    busy: float = 0.0
    most: int = 0
    queues: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class SimulatedDeployment(ParameterDeployment):
    """Where simulated tasks have their parameters: stores of the `cost`; `usage` is that of the servers.

    The servers share a machine of so many `cores`; None: each has one of its own. After each result a server
    evaluates the model, which takes a core `evaluation` seconds.
    """

    rules: PoolRules = USUAL
    cost: StoreCost = field(kw_only=True)
    scale: float = field(kw_only=True)
    cores: int | None = field(default=None, kw_only=True)
    evaluation: float = field(default=0.0, kw_only=True)
    usage: ServerUsage = field(default_factory=ServerUsage, kw_only=True)

    def place(self, task: str) -> SimulatedPlace:
        """See ParameterDeployment."""
        parameters = SimulatedParameters(self.cost)
        return SimulatedPlace(
            MEMORY, task, "simulation", cost=self.cost, scale=self.scale, parameters=parameters
        )

    def servers(self, place: ParameterAddress, recipe: Recipe) -> ParameterServers:
        """See ParameterDeployment. Raises TypeError for a place that is not simulated."""
        if not isinstance(place, SimulatedPlace):
            raise TypeError("simulated parameter servers need a simulated place")
        return SimulatedServers(place, recipe, self)


class SimulatedServers(ParameterServers):
    """Parameter servers of which each takes the store's time for a result, on the virtual clock."""

    def __init__(self, place: SimulatedPlace, recipe: Recipe, deployment: SimulatedDeployment) -> None:
        super().__init__(place, recipe, deployment.rules)
        self._parameters, self._scale = place.parameters, place.scale
        self._lock = None if place.loses_results else asyncio.Lock()
        self._usage, self._evaluation = deployment.usage, deployment.evaluation
        self._cores = None if deployment.cores is None else ServerCores(deployment.cores)
        self._counted_until = asyncio.get_running_loop().time()

    def count_until_now(self) -> None:
        """Adds the seconds of all servers up to now to the usage."""
        now = asyncio.get_running_loop().time()
        self._usage.seconds += self.count * (now - self._counted_until)
        self._counted_until = now

    def _resize(self, count: int) -> None:
        self.count_until_now()
        self._usage.most = max(self._usage.most, count)
        super()._resize(count)

    async def _queued(self, job: AssimilationJob) -> Receipt:
        self._usage.queues.append(self.backlog)
        return await super()._queued(job)

    async def _finish(
        self, worker: PoolWorker, job: AssimilationJob, future: asyncio.Future[Receipt]
    ) -> None:
        began = asyncio.get_running_loop().time()
        try:
            await super()._finish(worker, job, future)
            # The result is in the model; only the server is not free yet.
            if self._evaluation:
                await self._compute(self._evaluation)
        finally:
            self._usage.busy += asyncio.get_running_loop().time() - began

    async def _attempt(self, worker: PoolWorker, job: AssimilationJob) -> Receipt:
        if self._lock is None:
            return await self._timed(worker, job)
        async with self._lock:
            return await self._timed(worker, job)

    async def _timed(self, worker: PoolWorker, job: AssimilationJob) -> Receipt:
        await self._compute(self._scale * self._parameters.read_for(job.result_id))
        return await super()._attempt(worker, job)

    async def _compute(self, seconds: float) -> None:
        """Takes a server's core for so many seconds; longer where servers share cores."""
        await (asyncio.sleep(seconds) if self._cores is None else self._cores.compute(seconds))
