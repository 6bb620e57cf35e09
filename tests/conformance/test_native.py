"""The conformance table's first column: native graphs against Keras itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.models import CASES
from tests.conformance.native import NativeBundle, metric_values, read_batches, relative_error, train

pytestmark = pytest.mark.tensorflow
TOLERANCE = 1e-4


@pytest.mark.parametrize("name", CASES)
def test_ten_native_steps_equal_keras(references: Path, name: str) -> None:
    folder = references / name
    reference = folder / "reference"
    expected = json.loads((reference / "expected.json").read_text("utf-8"))
    seed = json.loads((reference / "inputs.json").read_text("utf-8"))["seed"]
    bundle, batches = NativeBundle(folder), read_batches(reference)
    result = train(bundle, batches, seed)
    size = bundle.manifest["parameters"]["trainable"]
    inputs = {"trainable": bundle.weights[:size], "state": bundle.weights[size:], **batches[0]}
    evaluated, predicted = bundle.run("evaluate", inputs), bundle.run("predict", inputs)
    vector = np.fromfile(reference / "vector.bin", "<f4")
    outputs = [np.fromfile(path, "<f4") for path in sorted(reference.glob("output_*.bin"))]
    steps = [expected["evaluate"]["metrics"], *expected["metrics"]]
    measured = [metric_values(bundle.manifest, evaluated), *result.metrics]
    errors = {
        "loss": relative_error(result.losses, expected["losses"]),
        "metrics": max(
            (relative_error([m[k] for m in measured], [m[k] for m in steps]) for k in steps[0]), default=0.0
        ),
        "gradient": relative_error(result.gradient, np.fromfile(reference / "gradient.bin", "<f4")),
        "vector": relative_error(result.vector, vector),
        "evaluate loss": relative_error(evaluated["loss"], expected["evaluate"]["loss"]),
        "output": max(relative_error(predicted[f"output_{k}"].ravel(), o) for k, o in enumerate(outputs)),
    }
    assert {m["name"] for m in bundle.manifest["metrics"]} == set(steps[0])
    print(name, {key: f"{value:.1e}" for key, value in errors.items()})
    assert max(errors.values()) <= TOLERANCE, errors
    # The ten steps moved the weights by more than the tolerance, so equality above means something.
    assert relative_error(vector, bundle.weights) > 50 * TOLERANCE


def test_the_padded_batch_is_part_of_the_reference(references: Path) -> None:
    weights = [batch["sample_weight"] for batch in read_batches(references / "cnn" / "reference")]
    assert (weights[3][-3:] == 0).all()
    assert len(np.unique(weights[2])) > 2
