"""The conformance table's first column: native graphs against Keras itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support.keras.comparison import metric_error, metric_values, relative_error
from tests.support.keras.native import NativeBundle, read_batches, train
from tests.support.keras.reference_cache import by_lane
from tests.support.keras.zoo import CASES

pytestmark = pytest.mark.tensorflow
TOLERANCE = 1e-4


@pytest.mark.parametrize("name", by_lane(CASES))
def test_ten_native_steps_equal_keras(references: Path, name: str) -> None:
    folder, case = references / name, CASES[name]
    reference = folder / "reference"
    expected = json.loads((reference / "expected.json").read_text("utf-8"))
    seed = json.loads((reference / "inputs.json").read_text("utf-8"))["seed"]
    bundle, batches = NativeBundle(folder), read_batches(reference)
    result = train(bundle, batches, seed)
    size = bundle.manifest["parameters"]["trainable"]
    inputs = {"trainable": bundle.weights[:size], "state": bundle.weights[size:], **batches[0]}
    evaluated, predicted = bundle.run("evaluate", inputs), bundle.run("predict", inputs)
    vector = np.fromfile(reference / "vector.bin", "<f4")
    outputs = [np.fromfile(reference / f"output_{k}.bin", "<f4") for k in range(len(predicted))]
    measured = [metric_values(bundle.manifest, evaluated), *result.metrics]
    errors = {
        "loss": relative_error(result.losses, expected["losses"]),
        "metrics": metric_error(measured, [expected["evaluate"]["metrics"], *expected["metrics"]]),
        "gradient": relative_error(result.gradient, np.fromfile(reference / "gradient.bin", "<f4")),
        "vector": relative_error(result.vector, vector),
        "evaluate loss": relative_error(evaluated["loss"], expected["evaluate"]["loss"]),
        "output": max(relative_error(predicted[f"output_{k}"].ravel(), o) for k, o in enumerate(outputs)),
    }
    print(name, {key: f"{value:.1e}" for key, value in errors.items()})
    limit = case.allowance.limit if case.allowance else TOLERANCE
    assert all(error <= limit for error in errors.values()), errors
    # The ten steps moved the weights by more than the tolerance, so equality above means something.
    assert relative_error(vector, bundle.weights) > 50 * TOLERANCE


def test_the_padded_batch_is_part_of_the_reference(references: Path) -> None:
    weights = [batch["sample_weight"] for batch in read_batches(references / "cnn" / "reference")]
    assert (weights[3][-3:] == 0).all()
    assert len(np.unique(weights[2])) > 2
