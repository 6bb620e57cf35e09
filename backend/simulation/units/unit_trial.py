"""Tries a task of work units before its launch, with simulated clients on virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from backend.errors import SettingsError
from backend.formats.task_file import StopTable, exactness
from backend.protocols.units.server_pool import USUAL, PoolRules
from backend.server.estimates.exact_cost import usable_times
from backend.server.estimates.traffic import traffic
from backend.server.hosting.clients.exact_clients import BACKEND
from backend.server.hosting.limits import TaskLimits
from backend.server.tasks.model_inspection import inspect
from backend.server.tasks.task import Task, load_task
from backend.server.units.host import UnitsHost
from backend.server.units.scheme import UNITS
from backend.server.units.setup import load_restored_state
from backend.server.units.work_generator import units_of
from backend.server.versions.version_history import VersionHistory
from backend.simulation import clock
from backend.simulation.client_work import ClientBehaviour
from backend.simulation.clients import DrawBehaviour, Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.plan_trial import ARRIVAL_SECONDS, PATIENCE_HOURS, POLL_SECONDS
from backend.simulation.population import MEGABIT, SimulatedPopulation, draw_clients
from backend.simulation.server_endpoint import SimulatedEndpoint
from backend.simulation.shortened_task import shortened
from backend.simulation.units.clients import SimulatedUnitClient, UnitHabits
from backend.simulation.units.lease_ledger import LeaseLedger
from backend.simulation.units.life_times import DrawLife
from backend.simulation.units.machines import RentedMachine, clients_of
from backend.simulation.units.outcome import ClientUse, UnitRunFigures, summarize_units
from backend.simulation.units.parameter_servers import SimulatedDeployment, SimulatedServers
from backend.simulation.units.store_costs import STORE_COSTS, StoreName
from backend.simulation.units.synthetic_units import SyntheticUnits
from backend.simulation.world import EPOCH
from backend.stores.contracts import AssimilationRecord, ContributionRecord
from backend.stores.embedded import Stores, open_stores
from backend.wire.client_id import client_id

# A vector of this many values represents a longer one. Results are compared and blended, so that it is
# shorter than that of rounds.
MAX_VALUES = 4096
# Nothing is lost if the process of a simulation ends, and each checkpoint takes real time.
CHECKPOINT_SECONDS = 600.0


@dataclass(frozen=True)
class UnitTrial:
    """The settings of a trial: the task file at `path` with `overrides`, population and `epochs`.

    Clients train `at_once` units at a time, and live as `draw_life` says (None: as long as the trial). With
    `machines` they are these, of which the population says only how often they drop out. The parameter
    servers share `server_cores` (None: each has its own), and spend `evaluation` seconds of a core on
    evaluating the model after each result.
    """

    path: Path
    overrides: tuple[str, ...]
    population: SimulatedPopulation
    epochs: int
    server_megabits: float
    seed: int
    at_once: int = 1
    store: StoreName = "memory"
    servers: PoolRules = USUAL
    draw_life: DrawLife | None = None
    machines: tuple[RentedMachine, ...] = ()
    server_cores: int | None = None
    evaluation: float = 0.0


@dataclass(frozen=True)
class UnitTrialResult:
    """The result of a trial: its figures, and the records from which its cost is computed."""

    figures: UnitRunFigures
    task: Task
    clients: tuple[ClientUse, ...]
    contributions: tuple[ContributionRecord, ...]
    assimilations: tuple[AssimilationRecord, ...]


def try_units(
    trial: UnitTrial, allowed: frozenset[str], tell: Callable[[int, int], None] = lambda _done, _all: None
) -> UnitTrialResult:
    """Runs a trial; `tell` is called with the numbers of results in the model and of all units.

    Raises TaskFileError, BundleError, SettingsError or PeerError.
    """
    with tempfile.TemporaryDirectory(prefix="minga-") as folder:
        return clock.run(_run(trial, allowed, Path(folder), tell))


async def _run(
    trial: UnitTrial, allowed: frozenset[str], folder: Path, tell: Callable[[int, int], None]
) -> UnitTrialResult:
    stores = open_stores(folder)
    try:
        task = await load_task(trial.path, trial.overrides, allowed, stores.blobs)
        _check(trial, task)
        return await _UnitRun(trial, task, stores).play(tell)
    finally:
        await stores.close()


class _UnitRun:
    """Owns the server and the clients of one trial."""

    def __init__(self, trial: UnitTrial, task: Task, stores: Stores) -> None:
        self._trial = trial
        self._task = task
        self._stores = stores
        self._ledger = LeaseLedger()
        rate = trial.server_megabits * MEGABIT
        self._line = SimulatedLine(Pipe(rate), Pipe(rate), 0.0)
        self._endpoint: SimulatedEndpoint[UnitsHost] = SimulatedEndpoint(self._line, UNITS.socket)
        self._clients: list[SimulatedUnitClient] = []
        self._loop = asyncio.get_running_loop()

    async def play(self, tell: Callable[[int, int], None]) -> UnitTrialResult:
        """Runs the task to its end, or until no result counted for PATIENCE_HOURS."""
        drawn = self._draw()
        trusted = min(len(units_of(self._task).trust.trusted), len(drawn))
        task = await shortened(
            self._planned([client_id(traits.token) for traits, _, _ in drawn[:trusted]]),
            self._stores.blobs,
            MAX_VALUES,
        )
        parameters = self._task.bundle.manifest.parameters.total
        scale = parameters / task.bundle.manifest.parameters.total
        deployment = SimulatedDeployment(
            rules=self._trial.servers,
            cost=STORE_COSTS[self._trial.store],
            scale=scale,
            cores=self._trial.server_cores,
            evaluation=self._trial.evaluation,
        )
        host = await self._open_host(task, deployment, scale)
        self._add_clients(drawn, trusted, task)
        units = units_of(task)
        rows = [shard.examples for shard in task.shards.train]
        expected = self._trial.epochs * units.units_of_epoch(rows, task.batch_size)
        while host.phase != "finished" and self._is_patient():
            await asyncio.sleep(POLL_SECONDS)
            tell(min(expected, len(self._ledger.staleness)), expected)
        return await self._end(host, deployment)

    def _is_patient(self) -> bool:
        return self._loop.time() < self._ledger.last_result_at + 3600 * PATIENCE_HOURS

    async def _end(self, host: UnitsHost, deployment: SimulatedDeployment) -> UnitTrialResult:
        ends = self._ledger.ends
        seconds = ends[-1] if host.phase == "finished" and ends else self._loop.time()
        servers = host.state.servers
        if isinstance(servers, SimulatedServers):
            servers.count_until_now()
        for client in self._clients:
            client.count_steps()
        uses = tuple(_use(client) for client in self._clients)
        moved = self._line.down.carried, self._line.up.carried
        assimilations = tuple(await host.assimilations())
        rows = self._trial.epochs * sum(shard.examples for shard in self._task.shards.train)
        visited = sum(row.examples for row in assimilations) / rows
        figures = summarize_units(self._ledger, host.state, uses, deployment.usage, seconds, moved, visited)
        contributions = tuple(await host.history.contributions())
        await self._endpoint.kill()
        return UnitTrialResult(figures, self._task, uses, contributions, assimilations)

    def _draw(self) -> list[tuple[Traits, DrawBehaviour, Random]]:
        if self._trial.machines:
            return clients_of(self._trial.machines, self._trial.population.churn, self._trial.seed)
        manifest = self._task.bundle.manifest
        times = inspect(manifest, traffic(manifest, self._task.bundle.manifest_bytes)).step_times
        times = usable_times(self._task.file, times)
        drawn = draw_clients(self._trial.population, times, None, self._trial.seed)
        if self._is_exact:
            return [
                (dataclasses.replace(traits, backend=BACKEND), draw, random) for traits, draw, random in drawn
            ]
        return drawn

    @property
    def _is_exact(self) -> bool:
        return exactness(self._task.file) == "required"

    def _planned(self, trusted: Sequence[str]) -> Task:
        """Returns the task with the trial's epochs, no stop rule, and the ids of simulated trusted peers."""
        file = self._task.file
        units = units_of(self._task)
        trust = msgspec.structs.replace(units.trust, trusted=list(trusted))
        units = msgspec.structs.replace(units, epochs=self._trial.epochs, trust=trust)
        plan = msgspec.structs.replace(file.coordination, rounds=0, units=units, stop=StopTable())
        return dataclasses.replace(self._task, file=msgspec.structs.replace(file, coordination=plan))

    async def _open_host(self, task: Task, deployment: SimulatedDeployment, scale: float) -> UnitsHost:
        run = await self._stores.records.open_run(task.file.name, task.bundle.address)
        history = VersionHistory(task, self._stores.records, self._stores.blobs, run)
        await history.open(EPOCH)
        usual = TaskLimits()
        # Where a short vector stands for a long one, so must its rate for the rate of an upload.
        slowest = max(1, round(usual.min_bytes_per_second / scale))
        host = UnitsHost(
            task,
            history,
            self._stores.blobs,
            evaluate=False,
            scratch=self._stores.scratch,
            restored=await load_restored_state(task, history),
            clock=lambda: EPOCH + self._loop.time(),
            observer=self._ledger,
            limits=dataclasses.replace(usual, min_bytes_per_second=slowest),
            chance=Random(f"{self._trial.seed}/chance").random,
            parameters=deployment,
            checkpoint_seconds=CHECKPOINT_SECONDS,
        )
        self._endpoint.open(host)
        return host

    def _add_clients(
        self, drawn: Sequence[tuple[Traits, DrawBehaviour, Random]], trusted: int, task: Task
    ) -> None:
        manifest = self._task.bundle.manifest
        work = SyntheticUnits(manifest, self._task.shards.train, task.bundle.manifest.parameters)
        pins = manifest.exact
        program = (pins.program if pins else "0" * 64) if self._is_exact else None
        stays = UnitHabits(self._trial.at_once, None, program)
        leaves = UnitHabits(self._trial.at_once, self._trial.draw_life, program)
        for number, (traits, draw_behaviour, random) in enumerate(drawn):
            is_trusted = number < trusted
            client = SimulatedUnitClient(
                traits,
                work,
                self._endpoint,
                (lambda _: ClientBehaviour()) if is_trusted else draw_behaviour,
                random,
                self._ledger,
                stays if is_trusted else leaves,
            )
            self._clients.append(client)
            self._loop.call_later(random.uniform(0.0, ARRIVAL_SECONDS), client.begin_life)


def _check(trial: UnitTrial, task: Task) -> None:
    """Raises SettingsError if there are too few clients for any result to count."""
    trust = units_of(task).trust
    clients = len(trial.machines) or trial.population.clients
    if clients < trust.replicas and not trust.trusted:
        raise SettingsError(
            f"{clients} clients are fewer than the {trust.replicas} that repeat a newcomer's unit; give more "
            "with --clients, or lower coordination.units.trust.replicas."
        )


def _use(client: SimulatedUnitClient) -> ClientUse:
    traits = client.traits
    return ClientUse(
        ids=tuple(client.ids),
        preempted=tuple(client.preempted),
        kind=traits.kind,
        backend=traits.backend,
        device=traits.device,
        busy=client.device.busy,
        present=client.present,
    )
