"""Private steps: clipped gradients of single examples against plain numpy, and noise of the right size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.errors import PeerError
from backend.formats.manifest import SignatureName
from backend.numerics.philox import batches
from backend.peer.data.shards import Examples, join_shards, read_shard
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.private_step import ExampleClip, rows_of
from backend.peer.training.step import never
from backend.peer.training.trainer import Trainer, TrainingPlan, TrainingResult
from backend.peer.training.training_jobs import example_clip
from backend.wire.messages import Privacy
from tests.integration.peer.training.plain_training import Array, build_plain, gradient, parts
from tests.support.timeouts import HEAVY

pytestmark = pytest.mark.tensorflow

RATE, SEED, ROWS, CLIP = 0.5, 11, 16, 0.3
PLAN = TrainingPlan(epochs=2, learning_rate=RATE, seed=SEED, batch_size=ROWS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task, converted with slices of two rows."""
    return build_plain(tmp_path_factory.mktemp("tasks") / "plain", rows=2) / "built"


def trainer(built: Path, *more: SignatureName) -> Trainer:
    return Trainer(import_graphs(open_bundle(built / "bundle", ["train", "apply", *more]), "cpu"))


@pytest.fixture(scope="module")
def whole(plain: Path) -> Trainer:
    return trainer(plain)


@pytest.fixture(scope="module")
def sliced(plain: Path) -> Trainer:
    return trainer(plain, "train_slice")


@pytest.fixture(scope="module")
def examples(plain: Path) -> Examples:
    """50 of them: the last of four batches is short."""
    manifest = open_bundle(plain / "bundle", []).manifest
    index = json.loads((plain / "shards" / "shards.json").read_bytes())
    return join_shards([read_shard((plain / "shards" / index["train"][1]["file"]).read_bytes(), manifest)])


@pytest.fixture(scope="module")
def start(plain: Path) -> NDArray[np.float32]:
    return np.fromfile(plain / "bundle" / "weights.bin", "<f4")


def run(
    trained: Trainer, start: NDArray[np.float32], plan: TrainingPlan, examples: Examples
) -> TrainingResult:
    return trained.train(start, plan, examples, never, lambda _: None)


def by_hand(start: NDArray[np.float32], microbatch: int, epochs: Sequence[int]) -> Array:
    """The update: microbatches' mean gradients, clipped, summed, over their nominal number."""
    x, y = parts()[0][1]
    w = start.astype(np.float64)
    for epoch in epochs:
        for rows in batches(SEED, epoch, len(y), ROWS):
            total = np.zeros_like(w)
            for first in range(0, len(rows), microbatch):
                some = rows[first : first + microbatch]
                one = gradient(w, (x[some], y[some]))
                total += one * min(1.0, CLIP / float(np.linalg.norm(one)))
            w = w - RATE * total / -(-ROWS // microbatch)
    moved: Array = w - start
    return moved


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("microbatch", [1, 2, 4, 16])
@pytest.mark.parametrize("name", ["whole", "sliced"])
def test_without_noise_a_training_is_that_of_clipped_gradients_in_numpy(
    name: str,
    microbatch: int,
    start: NDArray[np.float32],
    examples: Examples,
    request: pytest.FixtureRequest,
) -> None:
    plan = replace(PLAN, privacy=ExampleClip(CLIP, 0.0, microbatch))
    found = run(request.getfixturevalue(name), start, plan, examples)
    wanted = by_hand(start, microbatch, (1, 2))
    assert np.linalg.norm(found.update - wanted) < 1e-5 * np.linalg.norm(wanted)
    assert (found.examples, found.steps) == (100, 8)


def test_one_example_moves_a_step_by_no_more_than_the_clip(
    whole: Trainer, start: NDArray[np.float32], examples: Examples
) -> None:
    """An outlier of a hundred times the size, in place of one that is there."""
    x = examples.x[0].copy()
    x[7] *= 100.0
    other = replace(examples, x=(x,))
    plan = replace(PLAN, epochs=0, steps=1, batch_size=50)

    def moved(privacy: ExampleClip | None) -> float:
        chosen = replace(plan, privacy=privacy)
        difference = run(whole, start, chosen, other).update - run(whole, start, chosen, examples).update
        return float(np.linalg.norm(difference)) * 50 / RATE

    assert moved(None) > 2 * CLIP
    assert moved(ExampleClip(CLIP, 0.0)) <= 2 * CLIP * (1 + 1e-5)


def test_the_noise_of_a_step_has_its_standard_deviation_and_is_new_every_time(
    sliced: Trainer, start: NDArray[np.float32], examples: Examples
) -> None:
    plan = replace(PLAN, epochs=0, steps=1)
    still = run(sliced, start, replace(plan, privacy=ExampleClip(CLIP, 0.0)), examples).update
    noisy = replace(plan, privacy=ExampleClip(CLIP, 3.0))
    noises = [run(sliced, start, noisy, examples).update - still for _ in range(40)]
    every = np.concatenate(noises) * ROWS / RATE / CLIP
    assert abs(every.std() / 3.0 - 1.0) < 5 / (2 * every.size) ** 0.5
    assert abs(np.corrcoef(noises)[np.triu_indices(40, 1)]).max() < 5.5 / len(start) ** 0.5


def test_rows_of_weight_zero_are_in_no_microbatch(
    whole: Trainer, start: NDArray[np.float32], examples: Examples
) -> None:
    weights = examples.sample_weight.copy()
    weights[:ROWS] = 0.0
    plan = replace(PLAN, epochs=1, privacy=ExampleClip(CLIP, 0.0))
    found = run(whole, start, plan, replace(examples, sample_weight=weights))
    assert found.examples == 50 - ROWS
    assert np.isfinite(found.update).all()


def test_slices_are_used_where_whole_microbatches_fit_into_one(plain: Path) -> None:
    both = import_graphs(open_bundle(plain / "bundle", ["train", "apply", "train_slice"]), "cpu")
    assert [rows_of(both, size).count for size in (1, 2, 3, 4)] == [2, 2, 90, 90]
    alone = import_graphs(open_bundle(plain / "bundle", ["train", "apply"]), "cpu")
    assert rows_of(alone, 1).count == 90


def test_a_plan_from_the_wire_says_what_each_step_does() -> None:
    assert example_clip(Privacy(0.0, 0.0, 1.5, 2.0, 4)) == ExampleClip(1.5, 2.0, 4)
    assert example_clip(Privacy(1.0, 1.0, 0.0, 0.0, 0)) is None


def test_a_plan_without_a_clip_is_refused(
    whole: Trainer, start: NDArray[np.float32], examples: Examples
) -> None:
    with pytest.raises(PeerError, match="privacy"):
        run(whole, start, replace(PLAN, privacy=ExampleClip(0.0, 1.0)), examples)
