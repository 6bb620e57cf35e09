"""Runs one training by work units: `minga serve`, a parameter store, and `minga peer join`."""

from __future__ import annotations

import csv
import io
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from benchmarks.support.server_process import seconds
from benchmarks.support.task_owner import TaskOwner
from benchmarks.support.throttle import throttled
from benchmarks.support.training_run import POLL_SECONDS, joining, serving
from tests.support.environment.databases import serving_postgres, serving_redis

Store = Literal["memory", "redis", "postgresql"]
# The column of assimilations.csv with the accuracy after a result.
ACCURACY = "held-out accuracy"
TASK = "resnet"


@dataclass(frozen=True)
class Experiment:
    """P parameter servers, C volunteers and T concurrent units each, named as in the paper.

    `alpha` is the share that the model keeps of itself; None: e / (e + 1) in epoch e. Each volunteer has
    `share` of a core.
    """

    servers: int
    clients: int
    slots: int
    alpha: float | None = 0.95
    share: float = 1.0

    @property
    def name(self) -> str:
        """Returns the paper's name: P1C3T2."""
        return f"P{self.servers}C{self.clients}T{self.slots}"


@dataclass(frozen=True)
class Blend:
    """A result assimilated `at` seconds after the start; `accuracy` None: not measured.

    `staleness` counts the results that arrived since its unit's weights were made; `lost` counts all results
    so far that others overwrote.
    """

    at: float
    epoch: int
    client: str
    staleness: int
    lost: float
    accuracy: float | None

    @property
    def measured(self) -> bool:
        """Returns whether there is an accuracy."""
        return self.accuracy is not None


@dataclass(frozen=True)
class Trained:
    """All results in order, and the mean number of cores of all volunteers together."""

    blends: list[Blend]
    cores: float


class Meter:
    """Sums the processor seconds of volunteers, including those that have ended."""

    def __init__(self, peers: Sequence[subprocess.Popen[str]]) -> None:
        self._peers = peers
        self._used: dict[int, float] = {}
        self._began, self._at_first = time.monotonic(), self._read()

    def look(self) -> float:
        """Returns the mean number of cores used since the meter was made.

        Raises RuntimeError when a volunteer failed.
        """
        if any(peer.poll() for peer in self._peers):
            raise RuntimeError("A peer gave up; its log says why.")
        return (self._read() - self._at_first) / max(time.monotonic() - self._began, 1e-3)

    def _read(self) -> float:
        for peer in self._peers:
            with suppress(FileNotFoundError, ProcessLookupError):
                self._used[peer.pid] = sum(seconds(peer.pid))
        return sum(self._used.values())


def train(
    tasks: Path, experiment: Experiment, overrides: Sequence[str], folder: Path, seed: int, store: Store
) -> Trained:
    """Runs the only task in the folder `tasks` to its end.

    The task waits until all volunteers are connected, and the time counts from then. Homes, logs and the
    server's data go into `folder`. Raises RuntimeError when one of the processes fails.
    """
    with ExitStack() as stack:
        settings = {
            "MINGA_PARAMETERS": stack.enter_context(_store(store)),
            "MINGA_PARAMETER_SERVERS": str(experiment.servers),
            "MINGA_FRAMES_PER_SECOND": "10000",
        }
        alpha = [] if experiment.alpha is None else [f"units.assimilation.alpha={experiment.alpha}"]
        overrides_of_task = [
            f"{TASK}.{one}" for one in (*overrides, *(f"coordination.{one}" for one in alpha))
        ]
        report = stack.enter_context(serving(tasks, overrides_of_task, folder, settings))
        owner = TaskOwner(report, TASK)
        owner.send_order("pause")
        flags = ["--at-once", str(experiment.slots)]
        peers = [
            stack.enter_context(joining(report["url"], folder, seed, number, flags))
            for number in range(experiment.clients)
        ]
        _wait_until(Meter(peers), lambda: owner.ready_count() == experiment.clients)
        if experiment.share < 1.0:
            for number, peer in enumerate(peers):
                stack.enter_context(throttled(peer, experiment.share, number / len(peers)))
        began, meter = time.time(), Meter(peers)
        owner.send_order("resume")
        cores = _wait_until(meter, owner.is_finished)
        _wait_until(meter, lambda: _is_last_measured(owner))
        return Trained([_blend(one, began) for one in _results(owner)], round(cores, 2))


@contextmanager
def _store(kind: Store) -> Iterator[str]:
    """Yields the address of a parameter store, started where it is a database."""
    if kind == "memory":
        yield kind
    elif kind == "redis":
        with serving_redis() as redis:
            yield redis.address
    else:
        with serving_postgres() as postgres:
            yield postgres.address


def _wait_until(meter: Meter, done: Callable[[], bool]) -> float:
    """Waits; returns the volunteers' cores until then. Raises RuntimeError when a peer fails first."""
    while True:
        cores = meter.look()
        if done():
            return cores
        time.sleep(POLL_SECONDS)


def _is_last_measured(owner: TaskOwner) -> bool:
    """Returns whether the last version is measured, which comes last, and the measurement written."""
    [*_, last] = owner.get("/versions")["versions"]
    if last["evaluation"] is None:
        return False
    return any(one["metrics"] for one in _results(owner) if one["epoch"] == last["round"])


def _results(owner: TaskOwner) -> list[dict[str, Any]]:
    """Returns all assimilated results in order."""
    return read_rows(owner.get("/figures/assimilations.csv"))


def read_rows(text: str) -> list[dict[str, Any]]:
    """Reads what each result did from assimilations.csv; metrics are empty where none were measured."""
    return [
        {
            "at": datetime.fromisoformat(row["at"]).timestamp(),
            "epoch": int(row["epoch"]),
            "client": row["client"],
            "staleness": int(row["staleness"]),
            "lost": float(row["lost"]),
            "metrics": {"accuracy": float(row[ACCURACY])} if row.get(ACCURACY) else {},
        }
        for row in csv.DictReader(io.StringIO(text))
    ]


def _blend(row: dict[str, Any], began: float) -> Blend:
    accuracy = row["metrics"].get("accuracy")
    return Blend(
        at=round(row["at"] - began, 2),
        epoch=row["epoch"],
        client=row["client"],
        staleness=row["staleness"],
        lost=row["lost"],
        accuracy=accuracy and round(accuracy, 4),
    )
