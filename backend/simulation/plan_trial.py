"""Tries a task's plan before its launch, with simulated clients on virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from backend.errors import SettingsError
from backend.formats.task_file import StopTable
from backend.server.estimates.traffic import traffic
from backend.server.observers.observer import NO_OBSERVERS
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account
from backend.server.rounds.host import RoundsHost
from backend.server.tasks.model_inspection import inspect
from backend.server.tasks.task import Task, load_task
from backend.simulation import clock
from backend.simulation.client_work import PlanAttempt
from backend.simulation.outcome import RunFigures, TransferredBytes, summarize
from backend.simulation.population import SimulatedPopulation, draw_clients
from backend.simulation.shortened_task import shortened
from backend.simulation.synthetic_training import SyntheticTraining
from backend.simulation.world import World
from backend.stores.contracts import BlobStore
from backend.stores.embedded import Stores, open_stores

if TYPE_CHECKING:
    from backend.simulation.tensorflow_training import CurvePoint, TensorFlowTraining

# Clients arrive within this time; the first rounds, which lack some of them, are not counted.
ARRIVAL_SECONDS = 2.0
WARMUP_ROUNDS = 2
# A vector of this many values represents a longer one; see SyntheticTraining.
MAX_VALUES = 16_384
# The trial stops if no round opens for this much virtual time.
PATIENCE_HOURS = 6.0
POLL_SECONDS = 1.0
MAX_ROUNDS = 1_000_000


@dataclass(frozen=True)
class PlanTrial:
    """The settings of a trial: the task file at `path` with `overrides`, population and `rounds`."""

    path: Path
    overrides: tuple[str, ...]
    population: SimulatedPopulation
    rounds: int
    server_megabits: float
    seed: int
    train: bool = False


@dataclass(frozen=True)
class TrainingFigures:
    """The result of real training: its steps, its wall-clock seconds, and the learning curve."""

    steps: int
    seconds: float
    curve: list[CurvePoint]


@dataclass(frozen=True)
class TrialResult:
    """The result of a trial; `trained` is None if training was synthetic."""

    outcome: RunFigures
    trained: TrainingFigures | None = None


def try_task(
    trial: PlanTrial, allowed: frozenset[str], tell: Callable[[int], None] = lambda _: None
) -> TrialResult:
    """Runs a trial; `tell` is called with the number of counted rounds that have ended so far.

    Raises TaskFileError, BundleError, SettingsError or PeerError.
    """
    with tempfile.TemporaryDirectory(prefix="minga-") as folder:
        return clock.run(_run(trial, allowed, Path(folder), tell))


async def _run(
    trial: PlanTrial, allowed: frozenset[str], folder: Path, tell: Callable[[int], None]
) -> TrialResult:
    stores = open_stores(folder)
    try:
        task = await load_task(trial.path, trial.overrides, allowed, stores.blobs)
        _check(trial, task)
        training = await _native(task, stores.blobs, trial.seed) if trial.train else None
        run = await stores.records.open_run(task.file.name, task.bundle.address)
        outcome = await _play(trial, task, stores, run, training, tell)
        if training is None:
            return TrialResult(outcome)
        curve = training.curve(await stores.records.versions(run))
        return TrialResult(outcome, TrainingFigures(training.steps_trained, training.seconds, curve))
    finally:
        await stores.close()


def _check(trial: PlanTrial, task: Task) -> None:
    minimum = task.file.coordination.min_available_clients
    if trial.population.clients < minimum:
        raise SettingsError(
            f"{trial.population.clients} clients are fewer than the {minimum} that this task waits for; "
            "give more with --clients, or lower coordination.min_available_clients."
        )


async def _native(task: Task, blobs: BlobStore, seed: int) -> TensorFlowTraining:
    # TensorFlow takes long to import, so only trials with real training import it.
    from backend.simulation.tensorflow_training import open_tensorflow_training

    return await open_tensorflow_training(task, blobs, seed)


async def _play(
    trial: PlanTrial,
    task: Task,
    stores: Stores,
    run: int,
    training: TensorFlowTraining | None,
    tell: Callable[[int], None],
) -> RunFigures:
    shortened_task = _endless(task if training else await shortened(task, stores.blobs, MAX_VALUES))
    manifest, shards = task.bundle.manifest, (*task.shards.train, *task.shards.measured)
    work = training or SyntheticTraining(
        manifest, shards, trial.seed, shortened_task.bundle.manifest.parameters
    )
    world = World(
        shortened_task,
        stores.records,
        stores.blobs,
        run,
        trial.server_megabits,
        observer=training or NO_OBSERVERS,
        account=await _account(task),
        seed=trial.seed,
    )
    host = await world.open_server()
    _add_clients(trial, task, work, world)
    await _until_round(host, WARMUP_ROUNDS + 1, lambda _: None)
    bytes_before, first = _transferred(world), host.round
    await _until_round(
        host,
        WARMUP_ROUNDS + trial.rounds + 1,
        lambda number: tell(min(trial.rounds, number - WARMUP_ROUNDS - 1)),
    )
    passed, bytes_moved = host.round - first, _transferred(world).since(bytes_before)
    spent_version = host.history.current.version if host.phase == "finished" else None
    await world.kill_server()
    counted = range(WARMUP_ROUNDS + 1, WARMUP_ROUNDS + trial.rounds + 1)
    rounds = [record for record in await stores.records.rounds(run) if record.round in counted]
    versions = [record for record in await stores.records.versions(run) if record.round in counted]
    if passed > len(rounds):
        # Short rounds end between two looks: the traffic of all that passed stands for those that count.
        bytes_moved = bytes_moved.scaled(len(rounds) / passed)
    return summarize(
        rounds, versions, _attempts(world), bytes_moved, task.file.coordination.rounds, spent_version
    )


async def _account(task: Task) -> PrivacyBudget | None:
    """Opens the privacy budget of a task that has one; other tasks need no account in a trial."""
    file, manifest = task.file, task.bundle.manifest
    if file.privacy is None or file.privacy.epsilon is None:
        return None
    rows = sum(metric.rows for metric in manifest.metrics)
    return await open_account(file, (), manifest.parameters.total, rows)


async def _until_round(host: RoundsHost, number: int, opened: Callable[[int], None]) -> None:
    """Waits until round `number` opens, the task finishes, or no round opened for PATIENCE_HOURS.

    `opened` is called with the number of each round that it sees open.
    """
    loop = asyncio.get_running_loop()
    last_round, changed_at = host.round, loop.time()
    while (
        host.round < number and host.phase != "finished" and loop.time() < changed_at + PATIENCE_HOURS * 3600
    ):
        await asyncio.sleep(POLL_SECONDS)
        if host.round != last_round:
            last_round, changed_at = host.round, loop.time()
            opened(last_round)


def _transferred(world: World) -> TransferredBytes:
    lines = [client.traits.line for client in world.clients]
    down, up = sum(line.down.carried for line in lines), sum(line.up.carried for line in lines)
    return TransferredBytes(down, up, world.line.down.rate)


def _attempts(world: World) -> dict[str, list[list[PlanAttempt]]]:
    """Returns the attempts of each client, by device."""
    attempts: dict[str, list[list[PlanAttempt]]] = {}
    for client in world.clients:
        attempts.setdefault(client.traits.device, []).append(client.trainer.attempts)
    return dict(sorted(attempts.items()))


def _add_clients(trial: PlanTrial, task: Task, work: SyntheticTraining, world: World) -> None:
    manifest = task.bundle.manifest
    times = inspect(manifest, traffic(manifest, task.bundle.manifest_bytes)).step_times
    for traits, draw_behaviour, random in draw_clients(
        trial.population, times, task.file.data.own, trial.seed
    ):
        client = world.add_client(traits, work.with_examples(*traits.examples), draw_behaviour, random)
        asyncio.get_running_loop().call_later(random.uniform(0.0, ARRIVAL_SECONDS), client.start)


def _endless(task: Task) -> Task:
    """Returns the task with more rounds than any trial, no stop rule, and all versions retained."""
    file = task.file
    endless = msgspec.structs.replace(file.coordination, rounds=MAX_ROUNDS, stop=StopTable())
    keeping = msgspec.structs.replace(file.checkpoints, keep_last=MAX_ROUNDS)
    return dataclasses.replace(
        task, file=msgspec.structs.replace(file, coordination=endless, checkpoints=keeping)
    )
