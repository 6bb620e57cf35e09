"""Members do work again, also where data come late, and see without training that a newcomer did not work."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np

from backend.errors import UnreachableError
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import NO_STATE, MeshStates, RoundWork
from backend.peer.mesh.byzantine.work_judge import WorkJudge
from backend.peer.mesh.weights import WeightCache
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh.byzantine.drawn_work import agreed_plan
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.messages import Train
from tests.support.peer.byzantine_groups import rules_of
from tests.unit.peer.mesh.byzantine.test_part_jobs import Played

NEWCOMER = "f" * 16


async def test_to_commit_to_no_piece_is_no_work(tmp_path: Path) -> None:
    """Else names that do nothing would earn seats: nothing compares as the same as nothing."""
    played, states, weights = Played().work, MeshStates(rules_of(), tmp_path, "ws://host"), WeightCache()
    work = RoundWork(played.base, {NEWCOMER: ()}, played.workers, played.means, played.checks, played.coin)
    states.take(played.base, NO_STATE, b"", work)
    weights.keep(played.base.weights.hex(), b"")
    # Neither trains, nor fetches, nor asks anybody.
    unused = cast(Any, None)
    judge = WorkJudge(unused, states, weights, RoundContents(), unused, unused, unused)
    judged = await judge.judge(unused, WorkCase(NEWCOMER, played.base.round, "a"))
    assert judged is not None
    assert (judged.finding.target, judged.finding.found) == (NEWCOMER, "other")


class LateData(TrainingJobs):
    """Work whose data the server does not send the first time."""

    def __init__(self, steps: int) -> None:
        self.steps, self.attempts = steps, 0

    async def train(
        self, job: TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        del job, name, report
        self.attempts += 1
        if self.attempts == 1:
            raise UnreachableError("The server does not answer.")
        return TrainingResult(np.zeros(3, np.float32), None, 1, self.steps, self.steps, 0.0, [], 1.0)


async def test_a_member_whose_server_does_not_send_data_once_asks_again(tmp_path: Path) -> None:
    rules, state = rules_of(), Played().work.base
    jobs, unused = LateData(rules.steps), cast(Any, None)
    states = MeshStates(rules, tmp_path, "ws://host")
    judge = WorkJudge(jobs, states, WeightCache(), RoundContents(), unused, unused, unused)
    job = TrainingJob(agreed_plan(rules, 1, state.weights), math.inf)
    assert await judge.trained(job, state, NEWCOMER) is not None
    assert jobs.attempts == 2
