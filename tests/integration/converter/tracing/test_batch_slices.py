"""Slices of a batch add up to the batch's own step."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from converter.refusal import Refusal
from converter.tracing.batch_slices import MAX_STEP_BYTES, slice_size
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import NativeBundle, relative_error

pytestmark = pytest.mark.tensorflow
BATCH, ROWS, SLICE = 8, 7, 2
layers = keras.layers


def model() -> Any:
    keras.utils.set_random_seed(1)
    return keras.Sequential(
        [
            keras.Input((5, 4)),
            layers.Conv1D(6, 3, activation="relu", kernel_regularizer=keras.regularizers.L2(0.1)),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(2),
        ]
    )


def test_slices_add_up_to_the_whole_batch(convert: Convert) -> None:
    bundle = convert(model(), BATCH, metrics=("mae",), slice=SLICE)
    assert bundle.manifest["slice"] == {"batch_size": SLICE}
    generator = np.random.default_rng(3)
    parts = {
        "x_0": generator.normal(size=(BATCH, 5, 4)).astype(np.float32),
        "y_0": generator.normal(size=(BATCH, 2)).astype(np.float32),
        "sample_weight": np.array([2.0] + [1.0] * (ROWS - 1) + [0.0] * (BATCH - ROWS), np.float32),
    }
    parts |= {r["name"]: generator.uniform(size=r["shape"]) for r in bundle.manifest["random"]}
    assert "random_0" in parts
    whole = bundle.run("train", {"trainable": bundle.weights, **parts})
    summed = in_slices(bundle, parts)
    assert relative_error(summed["loss"], whole["loss"]) <= 1e-5
    assert relative_error(summed["gradient"], whole["gradient"]) <= 1e-5
    assert relative_error(summed["metrics"], whole["metrics"]) <= 1e-5


def test_squares_of_tables_add_up_by_the_squares_of_shares(convert: Convert) -> None:
    words = keras.Sequential(
        [keras.Input((5,), dtype="int32"), layers.Embedding(4, 3), layers.Flatten(), layers.Dense(2)]
    )
    bundle = convert(words, BATCH, metrics=("mae",), slice=SLICE, optimizer={"name": "adam"})
    generator = np.random.default_rng(3)
    parts = {
        "x_0": generator.integers(0, 4, (BATCH, 5), np.int32),
        "y_0": generator.normal(size=(BATCH, 2)).astype(np.float32),
        "sample_weight": np.array([2.0] + [1.0] * (ROWS - 1) + [0.0] * (BATCH - ROWS), np.float32),
    }
    whole = bundle.run("train", {"trainable": bundle.weights, **parts})
    summed = in_slices(bundle, parts)
    assert relative_error(summed["gradient"], whole["gradient"]) <= 1e-5
    assert relative_error(summed["row_squares"], whole["row_squares"]) <= 1e-5


def in_slices(bundle: NativeBundle, parts: dict[str, Any]) -> dict[str, Any]:
    """What a participant makes of the slices: means by rows, sums of metrics."""
    summed: dict[str, Any] = {"loss": 0.0, "gradient": 0.0, "row_squares": 0.0, "metrics": 0.0}
    for start in range(0, BATCH, SLICE):
        part = {name: values[start : start + SLICE] for name, values in parts.items()}
        share = float((part["sample_weight"] > 0).sum()) / ROWS
        out = bundle.run("train_slice", {"trainable": bundle.weights, **part})
        summed["loss"] += share * out["loss"]
        summed["gradient"] = summed["gradient"] + share * out["gradient"]
        summed["row_squares"] = summed["row_squares"] + share**2 * out.get("row_squares", 0.0)
        summed["metrics"] = summed["metrics"] + out["metrics"]
    return summed


def test_a_small_step_needs_no_slices(convert: Convert) -> None:
    assert convert(model(), BATCH).manifest["slice"] is None


def test_a_summed_loss_has_no_slices(convert: Convert) -> None:
    summed = model()
    summed.compile(loss=keras.losses.MeanSquaredError(reduction="sum"), optimizer="sgd")
    assert convert(summed, BATCH, loss=None, optimizer=None, slice=SLICE).manifest["slice"] is None


def test_large_steps_get_the_largest_slice_that_is_roomy() -> None:
    assert slice_size(32, MAX_STEP_BYTES, None) is None
    assert slice_size(32, 2 * MAX_STEP_BYTES, None) == 16
    assert slice_size(30, 4 * MAX_STEP_BYTES, None) == 6
    assert slice_size(32, 1000 * MAX_STEP_BYTES, None) == 1
    assert slice_size(1, 1000 * MAX_STEP_BYTES, None) is None


@pytest.mark.parametrize("wanted", [3, 8, 16])
def test_a_slice_divides_the_batch(wanted: int) -> None:
    with pytest.raises(Refusal, match=f"`slice` is {wanted}, which does not divide the batch of 8"):
        slice_size(8, 0, wanted)
