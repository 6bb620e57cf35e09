"""A dry run: what it finds, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from converter.dry_run import dry_run_bundle
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from tests.integration.converter.conftest import Convert, keras

pytestmark = pytest.mark.tensorflow


def classifier(activation: str = "relu") -> keras.Model:
    keras.utils.set_random_seed(3)
    return keras.Sequential(
        [keras.Input((6,)), keras.layers.Dense(5, activation), keras.layers.Dense(3, "softmax")]
    )


def test_a_step_on_given_examples_lowers_their_loss(convert: Convert, tmp_path: Path) -> None:
    convert(classifier(), batch_size=8, loss="sparse_categorical_crossentropy", optimizer={"name": "adam"})
    random = np.random.default_rng(0)
    x, y = random.normal(size=(5, 6)).astype(np.float32), np.arange(5, dtype=np.int32) % 3
    np.savez(tmp_path / "batch.npz", x_0=x, y_0=y)
    file = tmp_path / "step.safetensors"
    found = dry_run_bundle(tmp_path / "bundle", tmp_path / "batch.npz", Limits(), file)
    # Fewer than a batch: the rest is padding, which does not count.
    expected = classifier()
    loss = keras.losses.sparse_categorical_crossentropy(y, expected(x)).numpy().mean()
    assert found["loss"] == pytest.approx(float(loss), rel=1e-5)
    assert found["loss_after"] < found["loss"]
    assert found["difference"] < 1e-5
    assert found["gradient_norm"] > 0
    kept = load_file(file)
    assert sorted(kept) == ["gradient", "loss", "sample_weight", "x_0", "y_0"]
    assert kept["x_0"].tobytes() == np.concatenate([x, x[[0, 0, 0]]]).tobytes()
    assert kept["sample_weight"].tolist() == [1, 1, 1, 1, 1, 0, 0, 0]
    assert float(np.linalg.norm(kept["gradient"])) == pytest.approx(found["gradient_norm"])
    assert kept["loss"] == pytest.approx(found["step_loss"]) == pytest.approx(found["loss"])


def test_an_optimizer_with_a_schedule_takes_its_step(convert: Convert, tmp_path: Path) -> None:
    schedule = {"name": "cosine_decay", "decay_steps": 10}
    optimizer = {"name": "sgd", "learning_rate": 0.1, "schedule": schedule}
    convert(classifier(), loss="sparse_categorical_crossentropy", optimizer=optimizer)
    assert dry_run_bundle(tmp_path / "bundle", None, Limits())["gradient_norm"] > 0


def test_a_model_without_examples_is_tried_on_noise(convert: Convert, tmp_path: Path) -> None:
    tokens = keras.Sequential(
        [keras.Input((4,), dtype="int32"), keras.layers.Embedding(7, 3), keras.layers.Dropout(0.5),
         keras.layers.Flatten(), keras.layers.Dense(2)]
    )  # fmt: skip
    convert(tokens, loss="mse")
    assert dry_run_bundle(tmp_path / "bundle", None, Limits())["loss"] > 0


def test_a_graph_that_is_not_the_model_is_refused(convert: Convert, tmp_path: Path) -> None:
    convert(classifier(), loss="sparse_categorical_crossentropy")
    classifier("tanh").save(tmp_path / "bundle" / "model.keras")
    with pytest.raises(Refusal, match="differ by"):
        dry_run_bundle(tmp_path / "bundle", None, Limits())


def test_examples_that_the_model_cannot_take_are_refused_with_a_remedy(
    convert: Convert, tmp_path: Path
) -> None:
    convert(classifier("exponential"), loss="sparse_categorical_crossentropy")
    np.savez(tmp_path / "batch.npz", x_0=np.full((4, 6), 1e30, np.float32), y_0=np.zeros(4, np.int32))
    with pytest.raises(Refusal, match="not finite: scale the inputs"):
        dry_run_bundle(tmp_path / "bundle", tmp_path / "batch.npz", Limits())
