"""Plays a schedule on virtual time and hands over the evidence."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import get_args

import msgspec

from backend.formats.task_file import TaskFile
from backend.server.tasks.task import Task, load_task
from backend.simulation import clock
from backend.simulation.client_work import ClientBehaviour
from backend.simulation.clients import Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.synthetic_training import SyntheticTraining
from backend.simulation.world import World
from backend.stores.contracts import ContributionRecord, EvaluationRecord, RoundRecord, VersionRecord
from backend.stores.embedded import Stores
from tests.property.simulation.faulty_clients import Rascal, Spoilt
from tests.property.simulation.schedules import SIZES, Kind, Schedule
from tests.property.simulation.witnesses import WatchedRecords, Witness
from tests.support.tasks.tiny_task import OPS, SIZE, bring_own, write_task

# From the end of trouble on, a round takes at most its deadline and what surrounds it.
PATIENCE, GLANCE = 120.0, 0.25
# What was decided, an abandoned round perhaps, is recorded after so long, however slow the worker is.
RECORDING = 3.0
# Held-out shards of tasks that deal out shards.
HOLDOUT = 3


@dataclass(frozen=True)
class Evidence:
    """What a run left behind. `clients` is how many there were, `cut_short` how many of their updates
    counted after fewer steps than planned, `finished` whether the task was.

    `weights` and `controls` (SCAFFOLD's) are bytes of each version. `settled` is the version when trouble
    ended, `stuck` says that none came.
    """

    task: Task
    witness: Witness
    versions: list[VersionRecord]
    rounds: list[RoundRecord]
    contributions: list[ContributionRecord]
    evaluations: list[EvaluationRecord]
    weights: dict[int, bytes]
    controls: dict[int, bytes]
    clients: int
    cut_short: int
    finished: bool
    settled: int
    stuck: bool
    seconds: float


Tasks = dict[tuple[Kind, int], Task]


async def tiny_tasks(folder: Path, stores: Stores) -> Tasks:
    """The tasks that all schedules vary, by kind and number of values of their models; made in `folder`."""
    tasks = {}
    for kind, size in product(get_args(Kind), SIZES):
        path = write_task(
            folder / f"{kind}-{size}", more=size - SIZE, holdout=HOLDOUT, deadline=5, fraction_evaluate=1.0
        )
        overrides = ["training.control_variates=true"] if kind == "control" else []
        if kind == "own":
            bring_own(path, minimum=2, maximum=100, holdout=0.25)
        tasks[kind, size] = await load_task(path / "task.toml", overrides, frozenset(OPS), stores.blobs)
    return tasks


def vary(task: Task, schedule: Schedule) -> Task:
    """The task of a schedule, under a name of its own, which keeps all its versions."""
    tables = msgspec.to_builtins(task.file)
    tables["name"] = f"seed-{schedule.seed}"
    tables["coordination"] |= schedule.coordination
    tables["training"] |= schedule.training
    tables["checkpoints"]["keep_last"] = 10_000
    return dataclasses.replace(task, file=msgspec.convert(tables, TaskFile))


def play(schedule: Schedule, tasks: Tasks, stores: Stores) -> Evidence:
    """Runs a schedule to its end."""
    random = Random(f"worker/{schedule.seed}")
    return clock.run(
        _Play(schedule, vary(tasks[schedule.kind, schedule.values], schedule), stores).run(),
        lambda: random.random() * schedule.slow_worker,
    )


class _Play:
    def __init__(self, schedule: Schedule, task: Task, stores: Stores) -> None:
        self._schedule = schedule
        self._task = task
        self._stores = stores
        self._random = Random(f"play/{schedule.seed}")
        self._witness = Witness()
        self._records = WatchedRecords(stores.records, self._witness)
        self._calm = False

    async def run(self) -> Evidence:
        task, stores = self._task, self._stores
        run = await stores.records.open_run(task.file.name, task.bundle.address)
        world = World(task, self._records, stores.blobs, run, 1000.0, self._witness.tap, self._witness)
        await self._open(world)
        self._add_clients(world)
        await self._trouble(world)
        settled, stuck = await self._calm_down(world)
        await asyncio.sleep(RECORDING)
        finished = world.endpoint.host is not None and world.endpoint.host.phase == "finished"
        await world.kill_server()
        versions = await stores.records.versions(run)
        return Evidence(
            task=task,
            witness=self._witness,
            versions=versions,
            rounds=await stores.records.rounds(run),
            contributions=await stores.records.contributions(run),
            evaluations=await stores.records.evaluations(run),
            weights={one.version: await stores.blobs.read(one.weights, verify=True) for one in versions},
            controls={
                one.version: await stores.blobs.read(one.control, verify=True)
                for one in versions
                if one.control
            },
            clients=len(world.clients),
            cut_short=sum(
                one.counted and one.cut for client in world.clients for one in client.trainer.attempts
            ),
            finished=finished,
            settled=settled,
            stuck=stuck,
            seconds=asyncio.get_running_loop().time(),
        )

    async def _open(self, world: World) -> None:
        self._witness.life += 1
        await world.open_server()

    def _add_clients(self, world: World) -> None:
        for number in range(self._schedule.clients + len(self._schedule.rascals)):
            random = Random(f"{self._schedule.seed}/{number}")
            traits = Traits(
                token=f"{self._schedule.seed:08d}-client-{number:06d}",
                device="laptop",
                kind="browser",
                backend="simulated",
                step_seconds=random.uniform(0.01, 1.0) ** 2,
                line=SimulatedLine(
                    Pipe(self._rate(random)), Pipe(self._rate(random)), random.uniform(0.001, 0.3)
                ),
                examples=(random.randint(2, 20), random.randint(0, 4))
                if self._task.file.data.own
                else (0, 0),
            )
            shards = (*self._task.shards.train, *self._task.shards.measured)
            work = SyntheticTraining(self._task.bundle.manifest, shards, self._schedule.seed).with_examples(
                *traits.examples
            )
            if number < self._schedule.clients:
                client = world.add_client(traits, work, partial(self._draw_behaviour, random), random)
            else:
                how = self._schedule.rascals[number - self._schedule.clients]
                client = Rascal(
                    traits, Spoilt(work, how), world.endpoint, lambda _: ClientBehaviour(), random
                )
                client.how = how
                world.clients.append(client)
            asyncio.get_running_loop().call_later(random.uniform(0.0, 3.0), client.start)

    def _rate(self, random: Random) -> float:
        """Bytes a second, with which an update takes up to a few seconds."""
        return random.uniform(1e3, 1e6) + self._task.plan().update_bytes * random.uniform(0.2, 5.0)

    def _draw_behaviour(self, random: Random, busy: float) -> ClientBehaviour:
        slowness = random.choice([1.0, 1.0, 1.0, 5.0])
        if self._calm or random.random() >= self._schedule.exits:
            return ClientBehaviour(slowness=1.0 if self._calm else slowness)
        return ClientBehaviour(
            exit=random.choice(self._schedule.ways),
            after=random.uniform(0.0, 1.5 * busy * slowness),
            away=random.choice([0.01, 1.0, random.uniform(0.0, 30.0)]),
            unnoticed=random.choice([0.0, 0.0, random.uniform(0.0, 40.0)]),
            slowness=slowness,
        )

    async def _trouble(self, world: World) -> None:
        loop = asyncio.get_running_loop()
        for kill in self._schedule.kills:
            await asyncio.sleep(max(0.0, kill - loop.time()))
            await world.kill_server()
            await asyncio.sleep(self._schedule.away)
            await self._open(world)
        await asyncio.sleep(max(0.0, self._schedule.trouble - loop.time()))

    async def _calm_down(self, world: World) -> tuple[int, bool]:
        """The version when trouble ended; whether PATIENCE passed without two more."""
        self._calm = True
        for client in world.clients:
            if isinstance(client, Rascal):
                client.drop_out(ClientBehaviour(exit="leave", away=1e9))
        host = world.endpoint.host
        assert host is not None
        settled = host.history.current.version
        wanted = min(settled + 2, self._task.file.coordination.rounds)
        for _ in range(round(PATIENCE / GLANCE)):
            if host.history.current.version >= wanted or host.phase == "finished":
                return settled, False
            await asyncio.sleep(GLANCE)
        return settled, True
