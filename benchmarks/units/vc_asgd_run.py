"""One training by work units: `minga serve`, a parameter store, and volunteers as `minga peer join`."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchmarks.support.server_process import seconds
from benchmarks.support.training_run import POLL_SECONDS, joining, serving
from tests.support.environment.databases import serving_postgres, serving_redis
from tests.support.web.visitors import Visitor

Store = Literal["memory", "redis", "postgresql"]
# A slowed volunteer runs and rests in turns this long together, seconds.
TURN = 0.2
TASK = "resnet"
MOST = 1000


@dataclass(frozen=True)
class Experiment:
    """P parameter servers, C volunteers and T units that each trains at once, as the paper names them.

    `alpha` is what the model keeps of itself; None: e / (e + 1) in epoch e. Each volunteer has `share` of a
    core.
    """

    servers: int
    clients: int
    slots: int
    alpha: float | None = 0.95
    share: float = 1.0

    @property
    def name(self) -> str:
        """As in the paper: P1C3T2."""
        return f"P{self.servers}C{self.clients}T{self.slots}"


@dataclass(frozen=True)
class Blend:
    """One result that was assimilated, `at` seconds after the beginning; `accuracy` None: not measured.

    `staleness` counts the results that came in since its unit's weights were made; `lost` are all those until
    then that others wrote over.
    """

    at: float
    epoch: int
    client: str
    staleness: int
    lost: float
    accuracy: float | None

    @property
    def measured(self) -> bool:
        """Whether there is an accuracy."""
        return self.accuracy is not None


@dataclass(frozen=True)
class Trained:
    """Every result, in their order, and how many cores the volunteers had together, on average."""

    blends: list[Blend]
    cores: float


class Meter:
    """Seconds of processors that volunteers used so far, of those, too, that are gone."""

    def __init__(self, peers: Sequence[subprocess.Popen[str]]) -> None:
        self._peers = peers
        self._used: dict[int, float] = {}
        self._began, self._at_first = time.monotonic(), self._read()

    def look(self) -> float:
        """Cores that they had since the meter was made. Raises RuntimeError when one of them failed."""
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

    The task waits until all volunteers are there, and the time counts from then on. Homes, logs and the
    server's data go into `folder`. Raises RuntimeError when one of the processes gives up.
    """
    with ExitStack() as stack:
        settings = {
            "MINGA_PARAMETERS": stack.enter_context(_store(store)),
            "MINGA_PARAMETER_SERVERS": str(experiment.servers),
            "MINGA_FRAMES_PER_SECOND": "10000",
        }
        alpha = [] if experiment.alpha is None else [f"units.assimilation.alpha={experiment.alpha}"]
        words = [f"{TASK}.{one}" for one in (*overrides, *(f"coordination.{one}" for one in alpha))]
        told = stack.enter_context(serving(tasks, words, folder, settings))
        owner = _owner(told)
        _order(owner, "pause")
        flags = ["--at-once", str(experiment.slots)]
        peers = [
            stack.enter_context(joining(told["url"], folder, seed, number, flags))
            for number in range(experiment.clients)
        ]
        _until(Meter(peers), lambda: _ready(owner) == experiment.clients)
        if experiment.share < 1.0:
            stack.enter_context(_slowed(peers, experiment.share))
        began, meter = time.time(), Meter(peers)
        _order(owner, "resume")
        cores = _until(meter, lambda: _over(owner))
        _until(meter, lambda: _measured(owner))
        return Trained([_blend(one, began) for one in _results(owner)], round(cores, 2))


@contextmanager
def _store(kind: Store) -> Iterator[str]:
    """The address of a parameter store, started where it is a database."""
    if kind == "memory":
        yield kind
    elif kind == "redis":
        with serving_redis() as redis:
            yield redis.address
    else:
        with serving_postgres() as postgres:
            yield postgres.address


def _owner(told: dict[str, Any]) -> Visitor:
    """The operator of the server that says this of itself."""
    visitor = Visitor(told["url"])
    code = told["owner_link"].partition("#")[2]
    visitor.ask("POST", "/api/sign-in/link", {"code": code, "name": "owner"})
    return visitor


def _order(owner: Visitor, order: str) -> None:
    owner.ask("POST", f"/api/tasks/{TASK}/orders", {"order": order, "reason": "", "cut": False})


def _until(meter: Meter, done: Callable[[], bool]) -> float:
    """Waits; cores that volunteers had until then. Raises RuntimeError when a peer gives up first."""
    while True:
        cores = meter.look()
        if done():
            return cores
        time.sleep(POLL_SECONDS)


def _ready(owner: Visitor) -> int:
    """Volunteers who have loaded the model and take units."""
    known = owner.ask("GET", f"/api/tasks/{TASK}/units")["trust"]
    return sum(one["slots"] > 0 for one in known)


def _over(owner: Visitor) -> bool:
    summary = owner.ask("GET", f"/api/tasks/{TASK}")
    return bool(summary["version"] == summary["rounds"])


def _measured(owner: Visitor) -> bool:
    """Whether the last version is measured, which comes after all other measurements, and that is written."""
    [*_, last] = owner.ask("GET", f"/api/tasks/{TASK}/versions")["versions"]
    if last["evaluation"] is None:
        return False
    return any(one["metrics"] for one in _results(owner) if one["epoch"] == last["round"])


def _results(owner: Visitor) -> list[dict[str, Any]]:
    """All that were assimilated, in their order. No experiment has more of them than are told at once."""
    found: list[dict[str, Any]] = owner.ask("GET", f"/api/tasks/{TASK}/units/history?last={MOST}")["results"]
    return found


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


@contextmanager
def _slowed(peers: Sequence[subprocess.Popen[str]], share: float) -> Iterator[None]:
    """Each peer runs for its share of every turn, not all of them at once, as if its core were so slow."""
    over = threading.Event()

    def turns(peer: subprocess.Popen[str], number: int) -> None:
        over.wait(TURN * number / len(peers))
        while not over.wait(TURN * share):
            peer.send_signal(signal.SIGSTOP)
            over.wait(TURN * (1.0 - share))
            peer.send_signal(signal.SIGCONT)

    threads = [
        threading.Thread(target=turns, args=(peer, number), daemon=True) for number, peer in enumerate(peers)
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
