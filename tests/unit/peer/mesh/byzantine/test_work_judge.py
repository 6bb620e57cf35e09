"""Members do work again, also where data come late, and see without training that a newcomer did not work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec import structs

from backend.errors import UnreachableError
from backend.formats.manifest import Manifest
from backend.numerics.vectors import Vector
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import NO_STATE, MeshStates, RoundWork
from backend.peer.mesh.byzantine.part_jobs import cut
from backend.peer.mesh.byzantine.work_judge import WorkJudge
from backend.peer.mesh.weights import WeightCache
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh.byzantine.drawn_work import agreed_plan
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.byzantine_messages import WorkTolerance
from backend.wire.messages import Train
from tests.support.peer.byzantine_groups import rules_of
from tests.unit.peer.mesh.byzantine.test_part_jobs import SIZE, Played, vector_of

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


class OwnWork(TrainingJobs):
    """Does everybody's work alike: its update is `update`."""

    def __init__(self, update: Vector, steps: int) -> None:
        self.update, self.steps = update, steps

    @property
    def manifest(self) -> Manifest:
        return cast(Manifest, SimpleNamespace(parameters=SimpleNamespace(total=len(self.update))))

    async def train(
        self, job: TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
    ) -> TrainingResult:
        del job, name, report
        return TrainingResult(self.update, None, 1, self.steps, self.steps, 0.0, [], 1.0)


@pytest.mark.parametrize(("size", "found"), [(1.0, "other"), (1e8, "same")])
async def test_works_whose_difference_is_that_of_rounded_weights_are_the_same(
    tmp_path: Path, size: float, found: str
) -> None:
    """Else an honest member would be accused once the training has converged."""
    played, update = Played(), vector_of(0)
    digests = tuple(played.keep(piece) for piece in cut(np.float32(1.2) * update, 3))
    work = replace(played.work, pieces={NEWCOMER: digests})
    rules = structs.replace(rules_of(), tolerance=WorkTolerance(distance=0.01, cosine=0.999, blame=0.02))
    states, weights, contents = MeshStates(rules, tmp_path, "ws://host"), WeightCache(), RoundContents()
    states.take(work.base, NO_STATE, b"", work)
    weights.keep(work.base.weights.hex(), np.full(SIZE, size, "<f4").tobytes())
    for digest, content in played.contents.items():
        contents.add(work.base.round, digest, content)
    unused = cast(Any, None)
    judge = WorkJudge(OwnWork(update, rules.steps), states, weights, contents, unused, unused, unused)
    job = TrainingJob(agreed_plan(rules, 1, work.base.weights), math.inf)
    judged = await judge.judge(job, WorkCase(NEWCOMER, work.base.round, "a"))
    assert judged is not None
    assert judged.finding.found == found
