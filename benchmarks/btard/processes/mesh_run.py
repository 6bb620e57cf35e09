"""Trains a trial by real processes, and watches bans, accuracy and bits as an honest member sees them."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.peer.mesh.byzantine.mesh_states import StoredState
from backend.protocols.mesh.byzantine.adoption import told_state
from backend.protocols.mesh.byzantine.state import AgreedState
from benchmarks.btard.processes import lying_member
from benchmarks.btard.processes.mesh_pages import training_pages
from benchmarks.btard.processes.mesh_task import write_mesh_task
from benchmarks.btard.trial import MEASURED, ProcessResult, Trial
from benchmarks.support.server_process import NO_LIMITS
from tests.support.peer.byzantine_company import ByzantineCompany
from tests.support.peer.peer_process import Peer

# Seconds that a round may take, with an exchange of all statements on a busy machine.
_LONGEST = 1800.0


@dataclass(frozen=True)
class MeshProcesses:
    """The members of a `trial`: `browsers` of the honest ones are pages, all others are peers."""

    trial: Trial
    browsers: int
    patience: float

    def train(self, folder: Path) -> ProcessResult:
        """Trains to the end; everything is written into `folder`, which must be empty."""
        trial = self.trial
        os.environ.update(NO_LIMITS)
        write_mesh_task(trial, folder / "tasks" / trial.task.name, self.patience)
        liars = folder / "liars"
        liars.mkdir()
        with ExitStack() as stack:
            company = ByzantineCompany(stack, folder)
            company.serve_written(trial.task.name)
            address = f"{company.server.url}/tasks/{trial.task.name}"
            honest = [company.join(transport="auto") for _ in range(self._honest_peers)]
            for _ in range(trial.byzantine if trial.attack else 0):
                company.join(transport="auto", runner=self._liar(liars))
            pages = stack.enter_context(training_pages(address, self.browsers))
            watcher = _Watcher(self, company, honest[0], liars)
            watcher.watch()
            for peer in honest[1:]:
                peer.expect("finished", _LONGEST)
            held = [_held(peer) for peer in honest] + (pages.held() if pages else [])
            return watcher.result(held)

    @property
    def _honest_peers(self) -> int:
        trial = self.trial
        return trial.peers - self.browsers - (trial.byzantine if trial.attack else 0)

    def _liar(self, folder: Path) -> Sequence[str]:
        plan = self.trial.attack
        assert plan is not None
        numbers = (str(plan.start), str(plan.every), str(self.trial.seed))
        return (lying_member.__spec__.name, plan.name, *numbers, str(folder))


class _Watcher:
    """Follows the reports of the honest `peer`, the first of the company, and the state that it stores."""

    def __init__(self, run: MeshProcesses, company: ByzantineCompany, peer: Peer, liars: Path) -> None:
        self._run, self._company, self._peer, self._liars = run, company, peer, liars
        self._curve, self._radii, self._seconds = list[float](), list[float](), list[float]()
        self._ended, self._banned, self._last_ban, self._lost = list[float](), frozenset[bytes](), 0, 0

    def watch(self) -> None:
        """Returns when the training is over."""
        while True:
            report = self._peer.next(_LONGEST)
            match report["event"]:
                case "finished":
                    return
                case "failed":
                    self._lost += 1
                case "averaged":
                    self._round_ended(report)

    def _round_ended(self, report: dict[str, Any]) -> None:
        self._ended.append(time.monotonic())
        self._seconds.append(report["seconds"])
        state, weights = self._stored()
        banned = frozenset(state.membership.banned)
        if banned > self._banned:
            self._banned, self._last_ban = banned, state.round
        if state.round >= MEASURED * (len(self._curve) + 1):
            self._curve.append(self._run.trial.task.accuracy(np.frombuffer(weights, "<f4")))
            self._radii.append(state.radius)
            self._tell(state)

    def _stored(self) -> tuple[AgreedState, bytes]:
        [path] = (self._company.home(1) / ".local/state/minga/mesh").glob("*.byzantine")
        stored = StoredState.read(path)
        state = told_state(stored.proof)
        assert state is not None
        return state, stored.weights

    def _tell(self, state: AgreedState) -> None:
        sentence = (
            f"round {state.round}: accuracy {self._curve[-1]:.4f}, {len(self._banned)} banned, "
            f"{len(state.membership.seats)} seats, radius {state.radius:.3g}, {self._median():.2f} s a round"
        )
        print(sentence, file=sys.stderr, flush=True)

    def _median(self) -> float:
        return float(np.median(np.diff(self._ended))) if len(self._ended) > 1 else 0.0

    def result(self, held: Sequence[dict[int, str]]) -> ProcessResult:
        """Returns what was seen; `held` are the weights of all honest members after the rounds."""
        trial = self._run.trial
        liars = set(lying_member.known_liars(self._liars).values())
        start = trial.attack.start if trial.attack else 1
        return ProcessResult(
            curve=self._curve,
            banned=len(self._banned),
            banned_honest=len(self._banned - liars),
            rounds_to_last_ban=self._last_ban - start + 1 if self._banned else None,
            different_bits=_different(held),
            lost=self._lost,
            seconds_a_round=round(self._median(), 3),
            long_rounds=sum(seconds >= 2 * self._run.patience for seconds in self._seconds),
            radii=self._radii,
        )


def _held(peer: Peer) -> dict[int, str]:
    return {one["round"]: one["weights"] for one in peer.seen if one["event"] == "averaged"}


def _different(held: Sequence[dict[int, str]]) -> int:
    """Returns how many members and rounds have other weights than most members had after the round."""
    found = defaultdict[int, Counter[str]](Counter)
    for one in held:
        for number, weights in one.items():
            found[number][weights] += 1
    return sum(counts.total() - max(counts.values()) for counts in found.values())
