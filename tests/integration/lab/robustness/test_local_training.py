"""The lab's clients train like the peer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.commands.build import build_task
from backend.lab.robustness.local_training import LocalTrainer
from backend.lab.robustness.robustness_task import RobustnessTask, open_robustness_task
from backend.peer.training.step import never
from backend.peer.training.trainer import Trainer, TrainingPlan
from tests.support.timeouts import HEAVY

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

MODELS = Path(__file__).parents[4] / "models"


@pytest.fixture(scope="module")
def task() -> RobustnessTask:
    build_task(MODELS / "digits")
    return open_robustness_task(MODELS / "digits" / "task.toml")


@pytest.mark.parametrize(
    ("count", "plan"),
    [
        (79, TrainingPlan(epochs=2, learning_rate=0.005, seed=3)),
        # A whole number of batches, and fewer examples than a batch holds.
        (64, TrainingPlan(epochs=1, learning_rate=0.005, seed=2**62)),
        (7, TrainingPlan(epochs=1, learning_rate=0.005, seed=4, steps=5, batch_size=5)),
        (150, TrainingPlan(epochs=2, learning_rate=0.01, seed=5, past_steps=40, first_step=3)),
    ],
)
def test_a_client_of_the_lab_trains_like_the_peer(
    task: RobustnessTask, count: int, plan: TrainingPlan
) -> None:
    examples = task.train.picked(slice(count))
    peer = Trainer(task.graphs).train(task.weights, plan, examples, never, lambda _progress: None)
    trainer = LocalTrainer(task.graphs)
    update, counted = trainer.train(task.weights, plan, examples)
    assert counted == peer.examples == trainer.counted(plan, count)
    assert np.abs(peer.update).max() > 1e-3
    np.testing.assert_allclose(update, peer.update, rtol=1e-5, atol=1e-6)
