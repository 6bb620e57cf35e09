"""A lying server compares the sums of two versions that are nearly the same, and reads one client's update.

It chooses how devices train: at a tiny rate a second training from the same weights makes almost the same
update, in whatever order. Each version is summed once, and no client can tell. So this is not promised to
fail: only noise that the clients add themselves limits what the difference says.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from backend.peer.training.noise import fresh_words
from backend.peer.training.protection import protected
from backend.peer.training.step import Vector
from backend.peer.training.trainer import TrainingProgress, TrainingResult
from backend.peer.training.training_jobs import TrainingJob, training_seed
from backend.wire.client_id import client_id
from backend.wire.messages import Privacy, PrivacyTerms, Train
from tests.attacks.rounds.test_a_masked_update_read_by_a_second_sum import peers
from tests.support.attacks.lying_rounds_server import lying_server, new_token
from tests.support.attacks.training_peers import SeededJobs

PEERS, PARAMETERS, EXAMPLES = 8, 40, 100
USUAL, TINY, NOISE = 0.1, 1e-4, 2.0


class Regression:
    """Trains a logistic regression in steps of one example; `made` has all updates before noise."""

    def __init__(self) -> None:
        self.made: dict[str, list[Vector]] = {}

    async def train(
        self,
        jobs: SeededJobs,
        job: TrainingJob[Train],
        _name: str,
        _report: Callable[[TrainingProgress], None],
    ) -> TrainingResult:
        plan, token = job.order, jobs._token
        own = np.random.default_rng(list(token.encode()))
        inputs, labels = own.normal(size=(EXAMPLES, PARAMETERS)), own.random(EXAMPLES) < 0.5
        weights = np.zeros(PARAMETERS)
        for row in np.random.default_rng(training_seed(plan)).permutation(EXAMPLES):
            wrong = 1 / (1 + np.exp(-(inputs[row] @ weights))) - labels[row]
            weights -= plan.learning_rate * wrong * inputs[row]
        update = weights.astype(np.float32)
        self.made.setdefault(token, []).append(update)
        result = TrainingResult(update, None, 8, EXAMPLES, EXAMPLES, 0.5, [(4.0, 8.0)], 1.0)
        return protected(result, plan.privacy, fresh_words())


async def read_error(folder: Path, monkeypatch: pytest.MonkeyPatch, rate: float, noise: float) -> float:
    """How far the difference of two sums is from one client's update, relative to that."""
    regression = Regression()

    async def train(jobs: SeededJobs, job: TrainingJob[Train], *others: object) -> TrainingResult:
        return await regression.train(jobs, job, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(SeededJobs, "train", train)
    tokens, said = [new_token() for _ in range(PEERS)], StringIO()
    async with lying_server(PARAMETERS) as server:
        server.changes = {"learning_rate": rate, "batch_size": 1}
        if noise:
            # About the length of an update.
            clip = 30 * rate
            server.privacy = PrivacyTerms(
                mechanism="local", clip=clip, noise=noise, delta=1e-5, microbatch=0, visits=0
            )
            server.changes["privacy"] = Privacy(clip, noise, 0.0, 0.0, 0)
        async with peers(server, tokens, folder, said):
            first = await server.sum_of(server.volunteers, 1, 0)
            second = await server.sum_of([client_id(token) for token in tokens[1:]], 2, 1)
    assert first is not None
    assert second is not None
    victim = regression.made[tokens[0]][0]
    return float(np.linalg.norm(first - second - victim) / np.linalg.norm(victim))


async def test_usual_training_hides_an_update_and_training_that_the_server_chose_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await read_error(tmp_path / "usual", monkeypatch, USUAL, 0.0) > 0.5
    # What docs/explanation/threats.md says of it would change with this.
    assert await read_error(tmp_path / "tiny", monkeypatch, TINY, 0.0) < 0.05


async def test_noise_of_clients_hides_an_update_however_they_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await read_error(tmp_path, monkeypatch, TINY, NOISE) > NOISE
