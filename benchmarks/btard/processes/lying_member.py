"""Runs the command `minga` as a member of a Byzantine mesh whose work is false from some round on.

Usage: python -m benchmarks.btard.processes.lying_member ATTACK START EVERY SEED FOLDER peer join URL ...

ATTACK is one of work_attacks.ATTACKS. The liars of a mesh know each other by the files of FOLDER: each has
the client's name, and the identity of its key. They find nothing wrong with each other's work.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from backend.__main__ import main
from backend.lab.attacks.attack import AttackedRound
from backend.numerics.vectors import Vector
from backend.peer.data.shards import Examples
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.byzantine import member
from backend.peer.mesh.byzantine.learner import ByzantineLearner, PreparedRound
from backend.peer.training import training_jobs
from backend.peer.training.engine import PlanData, ShardRows
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import WorkFinding
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Train
from benchmarks.btard.picture_task import CLASSES
from benchmarks.btard.work_attacks import DELAY, INFORMED, LABEL, AttackPlan, update_attack


def known_liars(folder: Path) -> dict[str, bytes]:
    """Returns the liars that have begun so far: the identity of each by its client."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.suffix}


@dataclass(frozen=True)
class Lies:
    """What the liars of a mesh do; `folder` has a file for each of them."""

    plan: AttackPlan
    seed: int
    folder: Path

    def enter(self, client: str, identity: bytes) -> None:
        """Lets the others know one more liar."""
        unnamed = self.folder / f"{client}.new"
        unnamed.write_bytes(identity)
        unnamed.rename(self.folder / client)


class MislabelledJobs(TrainingJobs):
    """Trains on labels 9 - y while it `mislabels`."""

    mislabels = False

    async def rows(self, rows: ShardRows) -> PlanData:
        found = await super().rows(rows)
        if not self.mislabels or not isinstance(found, Examples):
            return found
        return replace(found, y=tuple((CLASSES - 1 - y).astype(y.dtype) for y in found.y))


class WorkLiar(ByzantineLearner):
    """Sends what `lies` make of its work, and of that of honest members, which it does itself."""

    lies: Lies

    def __init__(self, client: str, identity: bytes, *rest: Any) -> None:
        super().__init__(client, identity, *rest)
        self._earlier: deque[Vector] = deque(maxlen=DELAY)
        self.lies.enter(client, identity)

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        work = await super().train(job, entered)
        if self.prepared is not None:
            self.prepared = await self._forged(job, self.prepared)
        return work

    async def _forged(self, job: TrainingJob[Train], true: PreparedRound) -> PreparedRound:
        """Returns what the liar brings in place of what it prepared."""
        liars, update = known_liars(self.lies.folder), true.update
        judgements = [
            WorkFinding(one.target, one.round, "same") if one.target in liars else one
            for one in true.judgements
        ]
        if update is not None:
            self._earlier.append(update)
            update = await self._sent(job, true.state, update, liars)
        return replace(true, update=update, judgements=judgements)

    async def _sent(
        self, job: TrainingJob[Train], state: AgreedState | None, own: Vector, liars: Collection[str]
    ) -> Vector:
        """Returns what takes the place of the `own` update [P] in the round after `state`.

        The first round is not attacked: nobody knows the others yet.
        """
        name = self.lies.plan.name
        if state is None or not self.lies.plan.is_due(state.round + 1):
            return own
        workers = roles_of(state, self._states.rules.terms.validators).workers
        if self._client not in workers:
            return own
        if name == LABEL:
            return await self._mislabelled(job, state, own)
        honest = [one for one in workers if one not in liars] if name in INFORMED else []
        known = [done.update for one in honest if (done := await self._judge.trained(job, state, one))]
        # Of fellow liars only the number matters.
        fellows = sum(one in liars for one in workers)
        earlier = np.stack([self._earlier[0]] * fellows)
        told = AttackedRound(state.round, np.stack([own] * fellows), np.stack(known or [own]), (earlier,))
        with np.errstate(all="ignore"):
            sent: Vector = update_attack(name, self.lies.seed)(told)[0]
        return sent

    async def _mislabelled(self, job: TrainingJob[Train], state: AgreedState, own: Vector) -> Vector:
        assert isinstance(self._jobs, MislabelledJobs)
        self._jobs.mislabels = True
        try:
            done = await self._judge.trained(job, state, self._client)
        finally:
            self._jobs.mislabels = False
        return own if done is None else done.update


def _lie(name: str, start: str, every: str, seed: str, folder: str) -> None:
    """Puts the liar where the command finds an honest member."""
    WorkLiar.lies = Lies(AttackPlan(name, int(start), int(every)), int(seed), Path(folder))
    member.ByzantineLearner = WorkLiar  # type: ignore[attr-defined, assignment]  # Where the session finds it.
    training_jobs.TrainingJobs = MislabelledJobs  # type: ignore[misc]  # Where the command finds it.


if __name__ == "__main__":
    _lie(*sys.argv[1:6])
    sys.exit(main(sys.argv[6:]))
