"""Trains one task by two fleets at the same time: one that nobody kills, and one that lives by a trace."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from backend.formats.manifest import Manifest
from backend.server.estimates.training_record import ClientWork, TrainingRecord, flops_of
from benchmarks.fleet.account import StepAccount, account
from benchmarks.fleet.lives import LifeTimes
from benchmarks.fleet.machine import Machine, MachineRules, PeerLife
from benchmarks.support.task_owner import TaskOwner
from benchmarks.support.training_run import serving

# Leases and kills are due to a fraction of a second; the server is asked less often.
TICK_SECONDS, POLL_SECONDS = 0.05, 0.5
LEASE_SECONDS = 600.0
# The model's accuracy is the mean of so many last epochs.
LAST_EPOCHS = 5
LOG = {"MINGA_LOG_LEVEL": "debug", "MINGA_LOG_FORMAT": "json"}


@dataclass(frozen=True)
class FleetPlan:
    """Both fleets' plan: so many machines, each with `share` of a core, train `epochs` passes.

    The preemptible fleet lives by `lives`, with `notice` seconds of the trace between SIGTERM and SIGKILL.
    The run may last `limit` seconds. With `standby` replacements have loaded TensorFlow when they begin.
    """

    machines: int
    epochs: int
    lives: LifeTimes
    share: float = 1.0
    notice: float | None = None
    seed: int = 1
    limit: float = 1200.0
    standby: bool = False


@dataclass(frozen=True)
class FleetRun:
    """What a fleet did; its `record` has the seconds of the trace, of which one is `scale` in the run.

    `starts` are the run's seconds from the start of each replacement to its first unit.
    """

    seconds: float
    processor: float
    accuracy: float
    account: StepAccount
    kills: int
    processes: int
    starts: Sequence[float]
    record: TrainingRecord


class _Fleet:
    """Owns a server and its machines."""

    def __init__(self, tasks: Path, task: str, plan: FleetPlan, folder: Path, is_killed: bool) -> None:
        self._task, self._plan, self._folder, self._tasks = task, plan, folder, tasks
        self._is_killed = is_killed
        self._stack = ExitStack()
        self._machines: list[Machine] = []
        self._began = 0.0
        self.ended: float | None = None

    def open(self) -> None:
        """Starts the server with a paused task, and all machines."""
        self._folder.mkdir()
        plan = self._plan
        lease = max(1.0, LEASE_SECONDS * plan.lives.scale)
        units = f"{self._task}.coordination.units"
        overrides = [
            f"{units}.epochs={plan.epochs}",
            f"{units}.evaluate_every=1000000",
            f"{units}.lease={lease}",
        ]
        report = self._stack.enter_context(serving(self._tasks, overrides, self._folder, LOG))
        self._owner = TaskOwner(report, self._task)
        self._owner.send_order("pause")
        notice = None if plan.notice is None else plan.notice * plan.lives.scale
        rules = MachineRules(report["url"], self._folder, plan.seed, plan.share, notice, plan.standby)
        for number in range(plan.machines):
            lives = plan.lives.of_machine(plan.seed, number) if self._is_killed else None
            self._machines.append(Machine(rules, number, number / plan.machines, lives))
            self._machines[-1].start(time.time())

    def close(self) -> None:
        """Ends everything that still runs."""
        for machine in self._machines:
            machine.stop(time.time())
        self._stack.close()

    def is_ready(self) -> bool:
        """Returns whether all machines have loaded the model."""
        return self._owner.ready_count() == len(self._machines)

    def begin(self) -> None:
        """Lets the task go on; the first lives begin."""
        self._began = time.time()
        for machine in self._machines:
            machine.begin_life(self._began)
        self._owner.send_order("resume")

    def tick(self) -> None:
        """Does what is due for the machines."""
        if self.ended is None:
            for machine in self._machines:
                machine.tick(time.time())

    def poll(self) -> None:
        """Asks whether the task is finished, and if so ends the machines."""
        if self.ended is None and self._owner.is_finished():
            self.ended = self._owner.results()[-1]["at"]
            for machine in self._machines:
                machine.stop(time.time())

    def is_measured(self) -> bool:
        """Returns whether the last versions have their accuracy."""
        return all(one["evaluation"] is not None for one in self._last_versions())

    def result(self, manifest: Manifest) -> FleetRun:
        """Returns what the fleet did, once it is finished."""
        lives = [life for machine in self._machines for life in machine.history]
        done = account(self._folder / "server.log", lives)
        assert self.ended is not None
        return FleetRun(
            seconds=self.ended - self._began,
            processor=sum(life.processor - life.start_up for life in lives),
            accuracy=statistics.mean(
                one["evaluation"]["metrics"]["accuracy"] for one in self._last_versions()
            ),
            account=done,
            kills=sum(life.killed for life in lives),
            processes=len(lives),
            starts=[seconds for life in lives if life.began > self._began for seconds in _start(life)],
            record=self._record(manifest, done),
        )

    def _last_versions(self) -> list[dict[str, dict[str, dict[str, float]]]]:
        versions: list[dict[str, dict[str, dict[str, float]]]] = self._owner.get("/versions")["versions"]
        return versions[-min(LAST_EPOCHS, self._plan.epochs) :]

    def _record(self, manifest: Manifest, done: StepAccount) -> TrainingRecord:
        """Returns the record from which `minga cost` computes dollars, lost work and start-up included."""
        scale, given = self._plan.lives.scale, self._owner.get("/contributions")
        credited = {row["client"]: row for row in given["contributions"]}
        assert self.ended is not None
        work = []
        for machine in self._machines:
            own = [credited[name] for life in machine.history for name in _clients(life) if name in credited]
            work.append(
                ClientWork(
                    client=f"machine {machine.number + 1}",
                    kind="peer",
                    backend="tensorflow",
                    examples=sum(row["examples"] for row in own),
                    results=sum(row["accepted"] + row["refused"] for row in own),
                    busy=sum(done.busy[life.number] for life in machine.history) / scale,
                    there=machine.paid(self._began, self.ended) / scale,
                )
            )
        return TrainingRecord(
            task=self._task,
            scheme="volunteer",
            passes=self._plan.epochs,
            seconds=(self.ended - self._began) / scale,
            work=tuple(work),
            down=given["traffic"]["sent"],
            up=given["traffic"]["received"],
            flops=flops_of(manifest, sum(row["examples"] for row in credited.values())),
        )


def _clients(life: PeerLife) -> list[str]:
    return [one["client"] for one in life.reports() if one["event"] == "connected"][:1]


def _start(life: PeerLife) -> list[float]:
    """Returns the seconds until the first unit, if there was one."""
    return [one["at"] - life.began for one in life.reports() if one["event"] == "training"][:1]


def train(
    tasks: Path, task: str, plan: FleetPlan, folder: Path, manifest: Manifest, note: Callable[[str], None]
) -> tuple[FleetRun, FleetRun]:
    """Runs the standard and the preemptible fleet side by side; returns what each did.

    Raises RuntimeError when a process fails.
    """
    fleets = [
        _Fleet(tasks, task, plan, folder / "standard", is_killed=False),
        _Fleet(tasks, task, plan, folder / "preemptible", is_killed=True),
    ]
    try:
        for fleet in fleets:
            fleet.open()
        while not all(fleet.is_ready() for fleet in fleets):
            for fleet in fleets:
                fleet.tick()
            time.sleep(POLL_SECONDS)
        for fleet in fleets:
            fleet.begin()
        note("Both fleets train.")
        _watch(fleets, time.monotonic() + plan.limit)
        while not all(fleet.is_measured() for fleet in fleets):
            time.sleep(POLL_SECONDS)
        standard, preemptible = (fleet.result(manifest) for fleet in fleets)
        return standard, preemptible
    finally:
        for fleet in fleets:
            fleet.close()


def _watch(fleets: Sequence[_Fleet], until: float) -> None:
    polled = 0.0
    while any(fleet.ended is None for fleet in fleets):
        if time.monotonic() > until:
            raise RuntimeError(
                "A fleet is not done within --limit. Where lives are shorter than the start of a peer, "
                "nobody ever trains: give a larger --hour, fewer --epochs, or a higher --limit."
            )
        for fleet in fleets:
            fleet.tick()
        if time.monotonic() - polled >= POLL_SECONDS:
            polled = time.monotonic()
            for fleet in fleets:
                fleet.poll()
        time.sleep(TICK_SECONDS)
