"""Local training in TensorFlow: the plan's walk, its random numbers, and Keras as the judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.errors import PeerError
from backend.numerics.philox import batches
from backend.peer.data.shards import Examples, join_shards, read_shard, zero_examples
from backend.peer.training.graphs import import_graphs, import_tensorflow, open_bundle
from backend.peer.training.step import Halt, Vector, never
from backend.peer.training.trainer import Trainer, TrainingPlan, TrainingProgress, TrainingResult
from tests.support.programs.program_process import Preload, run

VECTORS = Path(__file__).parents[3] / "contract" / "vectors"

pytestmark = pytest.mark.tensorflow


@pytest.fixture(scope="module")
def trainer(digits: Path) -> Trainer:
    return Trainer(import_graphs(open_bundle(digits / "built" / "bundle", ["train", "apply"]), "cpu"))


@pytest.fixture(scope="module")
def weights(digits: Path) -> Vector:
    return np.fromfile(digits / "built" / "bundle" / "weights.bin", "<f4")


@pytest.fixture(scope="module")
def shards(digits: Path) -> list[Examples]:
    return read_shards(digits / "built" / "shards", digits / "built" / "bundle")


def read_shards(folder: Path, bundle: Path) -> list[Examples]:
    manifest = open_bundle(bundle, []).manifest
    index = json.loads((folder / "shards.json").read_bytes())
    return [read_shard((folder / entry["file"]).read_bytes(), manifest) for entry in index["train"]]


def train(
    trainer: Trainer,
    weights: Vector,
    plan: TrainingPlan,
    shards: list[Examples],
    report: Callable[[TrainingProgress], None] = lambda _: None,
    halt: Halt = never,
) -> TrainingResult:
    return trainer.train(weights, plan, join_shards(shards), halt, report)


def test_the_same_seed_gives_the_same_update_to_the_bit_and_another_seed_another(
    trainer: Trainer, weights: Vector, shards: list[Examples]
) -> None:
    first = train(trainer, weights, TrainingPlan(1, 0.003, 7), shards[:2])
    again = train(trainer, weights, TrainingPlan(1, 0.003, 7), shards[:2])
    other = train(trainer, weights, TrainingPlan(1, 0.003, 8), shards[:2])
    assert np.array_equal(first.update, again.update)
    assert not np.array_equal(first.update, other.update)


def test_examples_count_every_visit_and_the_short_batch_is_not_padded_into_them(
    trainer: Trainer, weights: Vector, shards: list[Examples]
) -> None:
    result = train(trainer, weights, TrainingPlan(3, 0.003, 7), shards[:1])
    assert (result.examples, result.steps) == (300, 12)
    assert result.update.dtype == np.float32
    assert result.update.shape == weights.shape
    assert 0 < result.loss < 10
    ((right, counted),) = result.sums
    assert 0 <= right <= counted == 300


def test_training_lowers_the_loss(trainer: Trainer, weights: Vector, shards: list[Examples]) -> None:
    before = train(trainer, weights, TrainingPlan(1, 0.003, 1), shards)
    after = train(trainer, weights + before.update, TrainingPlan(1, 0.003, 2), shards)
    assert after.loss < before.loss / 2
    assert after.sums[0] > before.sums[0]


def test_stop_ends_after_the_current_step_with_the_part_that_is_done(
    trainer: Trainer, weights: Vector, shards: list[Examples]
) -> None:
    watched: list[TrainingProgress] = []
    # Far more than fits before the first report, a quarter of a second after the start.
    plan = TrainingPlan(200, 0.003, 7)
    result = train(trainer, weights, plan, shards, watched.append, lambda *_: bool(watched))
    assert watched[0].step < watched[0].steps == 200 * 47
    assert result.steps == watched[0].step
    assert result.planned == 200 * 47
    whole_epochs, rest = divmod(result.steps, 47)
    assert result.examples == whole_epochs * 1500 + min(rest * 32, 1500)
    assert np.linalg.norm(result.update) > 0


def test_stopped_before_the_first_step_nothing_is_done(
    trainer: Trainer, weights: Vector, shards: list[Examples]
) -> None:
    result = train(trainer, weights, TrainingPlan(1, 0.003, 7), shards, halt=lambda *_: True)
    assert (result.examples, result.steps) == (0, 0)
    assert not result.update.any()


def test_a_vector_of_another_length_and_an_empty_plan_are_refused(
    trainer: Trainer, weights: Vector, shards: list[Examples], digits: Path
) -> None:
    nothing = zero_examples(open_bundle(digits / "built" / "bundle", []).manifest, 0)
    with pytest.raises(PeerError, match="7489 values"):
        train(trainer, weights[:-1], TrainingPlan(1, 0.003, 7), shards)
    with pytest.raises(PeerError, match="no examples"):
        train(trainer, weights, TrainingPlan(1, 0.003, 7), [nothing])


def test_tensorflow_draws_the_golden_random_numbers() -> None:
    """The step draws with TensorFlow's own Philox; browsers draw with ours. Both must be the same."""
    tf = import_tensorflow()
    for draw in json.loads((VECTORS / "philox.json").read_bytes()):
        key = [draw["seed"], draw["step"] + (draw["stream"] << 32)]
        if key[1] >= 2**63:
            key[1] -= 2**64
        drawn = tf.random.stateless_uniform(
            [len(draw["values"])], seed=tf.constant(key, tf.int64), alg="philox"
        )
        assert np.array_equal(drawn.numpy(), np.array(draw["values"], np.float32))


# Keras asks TensorFlow for arrays in a way that numpy 2 deprecates.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_an_update_equals_what_keras_does_with_the_same_batches(digits: Path, tmp_path: Path) -> None:
    """The digits model without its dropout, whose random numbers Keras draws in another way."""
    import keras

    model = keras.models.load_model(digits / "built" / "model.keras", compile=False)
    plain = keras.Sequential([layer for layer in model.layers if not isinstance(layer, keras.layers.Dropout)])
    plain.build(model.input_shape)
    plain.save(tmp_path / "plain.keras")
    bundle = tmp_path / "bundle"
    words: list[str | Path] = [tmp_path / "plain.keras", "--task", digits / "task.toml", "-o", bundle]
    assert run(Preload.CONVERTER, "converter", *words).returncode == 0

    shards = read_shards(digits / "built" / "shards", bundle)[:3]
    before = np.fromfile(bundle / "weights.bin", "<f4")
    trainer = Trainer(import_graphs(open_bundle(bundle, ["train", "apply"]), "cpu"))
    result = train(trainer, before, TrainingPlan(2, 0.003, 11), shards)

    losses = fit_with_keras(plain, join_shards(shards), seed=11, epochs=2)
    wanted = np.concatenate([np.ravel(variable) for variable in plain.get_weights()]) - before
    assert np.linalg.norm(result.update - wanted) / np.linalg.norm(wanted) < 1e-4
    assert result.loss == pytest.approx(losses, rel=1e-5)


def fit_with_keras(model: Any, examples: Examples, seed: int, epochs: int) -> float:
    """Trains `model` on the plan's batches, unpadded; the mean loss over all examples visited."""
    import keras

    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    total = 0.0
    for epoch in range(1, epochs + 1):
        for rows in batches(seed, epoch, len(examples), 32):
            model.reset_metrics()
            total += float(model.train_on_batch(examples.x[0][rows], examples.y[0][rows])) * len(rows)
    return total / (epochs * len(examples))
