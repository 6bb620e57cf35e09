"""A task tried before its launch: so many rounds with so many people, on virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from backend.errors import SettingsError
from backend.formats.manifest import ParameterCounts
from backend.formats.task_file import StopTable
from backend.server.estimates.traffic import traffic
from backend.server.observers.observer import SILENCE
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account
from backend.server.rounds.host import RoundsHost
from backend.server.tasks.model_inspection import inspect
from backend.server.tasks.task import Task, load_task
from backend.simulation import clock
from backend.simulation.client_work import PlanAttempt
from backend.simulation.outcome import Moved, RunFigures, summarize
from backend.simulation.population import SimulatedPopulation, people
from backend.simulation.synthetic_training import Pretended
from backend.simulation.world import World
from backend.stores.contracts import BlobStore
from backend.stores.embedded import Stores, open_stores

if TYPE_CHECKING:
    from backend.simulation.tensorflow_training import CurvePoint, Native

# All come at once, more or less, and the first rounds, in which not all are there yet, are left out.
ARRIVAL_SECONDS = 2.0
SETTLING = 2
# A longer vector is stood for by one of so many values; see Pretended.
MOST_VALUES = 16_384
# A task in which no round is opened for so much virtual time is given up.
PATIENCE_HOURS = 6.0
GLANCE = 1.0
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True)
class PlanTrial:
    """What is tried: the task file at `path` with `overrides`, and for how many `rounds`."""

    path: Path
    overrides: tuple[str, ...]
    population: SimulatedPopulation
    rounds: int
    server_megabits: float
    seed: int
    train: bool = False


@dataclass(frozen=True)
class TrainingFigures:
    """What came of real training: steps and seconds that were spent on it here, and the curve."""

    steps: int
    seconds: float
    curve: list[CurvePoint]


@dataclass(frozen=True)
class TrialResult:
    """What a trial came to; `trained` is None where training was pretended."""

    outcome: RunFigures
    trained: TrainingFigures | None = None


def try_task(trial: PlanTrial, allowed: frozenset[str]) -> TrialResult:
    """Runs a trial. Raises TaskFileError, BundleError, SettingsError or PeerError with a sentence."""
    with tempfile.TemporaryDirectory(prefix="minga-") as folder:
        return clock.run(_run(trial, allowed, Path(folder)))


async def _run(trial: PlanTrial, allowed: frozenset[str], folder: Path) -> TrialResult:
    stores = open_stores(folder)
    try:
        task = await load_task(trial.path, trial.overrides, allowed, stores.blobs)
        _check(trial, task)
        native = await _native(task, stores.blobs, trial.seed) if trial.train else None
        run = await stores.records.open_run(task.file.name, task.bundle.address)
        outcome = await _play(trial, task, stores, run, native)
        if native is None:
            return TrialResult(outcome)
        curve = native.curve(await stores.records.versions(run))
        return TrialResult(outcome, TrainingFigures(native.steps_trained, native.seconds, curve))
    finally:
        await stores.close()


def _check(trial: PlanTrial, task: Task) -> None:
    least = task.file.coordination.min_available_clients
    if trial.population.clients < least:
        raise SettingsError(
            f"{trial.population.clients} clients are fewer than the {least} that this task waits for; "
            "give more with --clients, or lower coordination.min_available_clients."
        )


async def _native(task: Task, blobs: BlobStore, seed: int) -> Native:
    # Only those who ask for it wait for TensorFlow.
    from backend.simulation.tensorflow_training import open_native

    return await open_native(task, blobs, seed)


async def _play(trial: PlanTrial, task: Task, stores: Stores, run: int, native: Native | None) -> RunFigures:
    short = _endless(task if native else await _shortened(task, stores.blobs))
    manifest, shards = task.bundle.manifest, (*task.shards.train, *task.shards.measured)
    work = native or Pretended(manifest, shards, trial.seed, short.bundle.manifest.parameters)
    world = World(
        short,
        stores.records,
        stores.blobs,
        run,
        trial.server_megabits,
        observer=native or SILENCE,
        account=await _account(task),
        seed=trial.seed,
    )
    host = await world.open_server()
    _let_in(trial, task, work, world)
    await _until_round(host, SETTLING + 1)
    before = _moved(world)
    await _until_round(host, SETTLING + trial.rounds + 1)
    moved = _moved(world).since(before)
    spent = host.history.current.version if host.phase == "finished" else None
    await world.kill_server()
    rounds = [one for one in await stores.records.rounds(run) if one.round > SETTLING]
    versions = [one for one in await stores.records.versions(run) if one.round > SETTLING]
    return summarize(rounds, versions, _attempts(world), moved, task.file.coordination.rounds, spent)


async def _account(task: Task) -> PrivacyBudget | None:
    """The account of a task with a budget; of others nothing is counted here."""
    file, manifest = task.file, task.bundle.manifest
    if file.privacy is None or file.privacy.epsilon is None:
        return None
    rows = sum(metric.rows for metric in manifest.metrics)
    return await open_account(file, (), manifest.parameters.total, rows)


async def _until_round(host: RoundsHost, number: int) -> None:
    """Lets time pass until round `number` is opened, the task is finished, or all hope is lost."""
    loop = asyncio.get_running_loop()
    seen, since = host.round, loop.time()
    while host.round < number and host.phase != "finished" and loop.time() < since + PATIENCE_HOURS * 3600:
        await asyncio.sleep(GLANCE)
        if host.round != seen:
            seen, since = host.round, loop.time()


def _moved(world: World) -> Moved:
    lines = [client.traits.line for client in world.clients]
    down, up = sum(line.down.carried for line in lines), sum(line.up.carried for line in lines)
    return Moved(down, up, world.line.down.rate)


def _attempts(world: World) -> dict[str, list[list[PlanAttempt]]]:
    """Those of each client, by its device."""
    found: dict[str, list[list[PlanAttempt]]] = {}
    for client in world.clients:
        found.setdefault(client.traits.device, []).append(client.labour.attempts)
    return dict(sorted(found.items()))


def _let_in(trial: PlanTrial, task: Task, work: Pretended, world: World) -> None:
    manifest = task.bundle.manifest
    times = inspect(manifest, traffic(manifest, task.bundle.manifest_bytes)).step_times
    for traits, fate, random in people(trial.population, times, task.file.data.own, trial.seed):
        client = world.add_client(traits, work.bringing(*traits.examples), fate, random)
        asyncio.get_running_loop().call_later(random.uniform(0.0, ARRIVAL_SECONDS), client.start)


async def _shortened(task: Task, blobs: BlobStore) -> Task:
    """The task with a vector of at most MOST_VALUES, all zeros where that is fewer than the model has."""
    manifest = task.bundle.manifest
    if manifest.parameters.total <= MOST_VALUES:
        return task
    parameters = ParameterCounts(trainable=MOST_VALUES, state=0)
    zeros = np.zeros(MOST_VALUES, "<f4").tobytes()
    address = await blobs.put(zeros)
    assert address == hashlib.sha256(zeros).hexdigest()  # noqa: S101 - that is what an address is.
    weights = msgspec.structs.replace(manifest.files["weights.bin"], sha256=address, bytes=len(zeros))
    short = msgspec.structs.replace(
        manifest, parameters=parameters, files={**manifest.files, "weights.bin": weights}
    )
    return dataclasses.replace(
        task,
        bundle=dataclasses.replace(task.bundle, manifest=short),
        zero_control=address if task.zero_control else None,
    )


def _endless(task: Task) -> Task:
    """The task with more rounds than any trial has, no rule to stop by, and all versions kept."""
    file = task.file
    endless = msgspec.structs.replace(file.coordination, rounds=MOST_ROUNDS, stop=StopTable())
    keeping = msgspec.structs.replace(file.checkpoints, keep_last=MOST_ROUNDS)
    return dataclasses.replace(
        task, file=msgspec.structs.replace(file, coordination=endless, checkpoints=keeping)
    )
