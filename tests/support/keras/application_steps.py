"""Compares a step of a family of keras.applications with Keras' own.

Usage: `python -m tests.support.keras.application_steps DIR NAME` writes the bundle with its reference into
DIR/NAME and prints the result as JSON: the seconds of the conversion, and either the sentence with which it
was refused or the errors of the native graphs. Without arguments it prints the families, and as a second list
those of Keras that are missing, as JSON.

Deep networks with relu and batch normalization have gradients that jump: Keras' own gradient changes in the
third digit where weights change in the seventh. `rounding` is that change of the loss and of the gradient,
measured with Keras alone; it is what those of a right bundle may differ by.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

# Before TensorFlow, for which it sets the environment.
from tests.support.keras.reference import (
    SEED,
    Measure,
    flat,
    keras_run,
    prescribed_draws,
    write_bundle_folder,
    write_inputs,
)

# isort: split
import numpy as np
import tensorflow as tf

from converter.refusal import Refusal
from tests.support.keras.cases import Batch
from tests.support.keras.comparison import metric_error, relative_error
from tests.support.keras.native import NativeBundle, read_batches, train
from tests.support.keras.zoo.applications import APPLICATIONS, Application, missing_families

# Two or three units in the last place of a float32.
RELATIVE_CHANGE = 2e-7
CHANGES = 4


def run(name: str, output: Path) -> dict[str, Any]:
    """Converts the family, takes one step with Keras and one with the native graphs, and compares them."""
    case, folder = APPLICATIONS[name], output / name
    begin = time.monotonic()
    told: dict[str, Any] = {"name": name, "variant": case.exercises}
    try:
        write_bundle_folder(case, folder)
    except Refusal as refusal:
        return told | {"refused": str(refusal)}
    told["seconds"] = round(time.monotonic() - begin, 1)
    reference = folder / "reference"
    reference.mkdir()
    write_inputs(case, reference, 1)
    keras_run(case, reference, 1)
    rounding = rounding_of(case)
    (reference / "case.json").write_text(json.dumps({"allowance": None}), "utf-8")
    bundle = NativeBundle(folder)
    result = train(bundle, read_batches(reference), SEED)
    expected = json.loads((reference / "expected.json").read_text("utf-8"))
    gradient = np.fromfile(reference / "gradient.bin", "<f4")
    vector = np.fromfile(reference / "vector.bin", "<f4")
    norm = float(np.linalg.norm(gradient))
    # The first step of momentum moves the weights by the gradient times the learning rate.
    moved = bundle.manifest["optimizer"]["learning_rate"] * norm / float(np.linalg.norm(vector))
    return told | {
        "parameters": sum(bundle.manifest["parameters"].values()),
        "rounding": rounding | {"vector": rounding["gradient"] * moved},
        "norm": norm,
        "native": {
            "loss": relative_error(result.losses, expected["losses"]),
            "metrics": metric_error(result.metrics, expected["metrics"]),
            "gradient": relative_error(result.gradient, gradient),
            "vector": relative_error(result.vector, vector),
        },
    }


def rounding_of(case: Application) -> dict[str, float]:
    """Returns how much Keras' own loss and gradient change, at worst, with the last places of its weights."""
    model, (padded,) = case.compiled(), case.batches()
    batch = padded.rows(int((padded.sample_weight > 0.0).sum()))
    measure, begin = Measure(case, model), [np.asarray(v) for v in model.variables]
    generator = np.random.default_rng(SEED)
    first_loss, first_gradient = _step(case, model, measure, batch)
    losses, gradients = [], []
    for _ in range(CHANGES):
        for variable, value in zip(model.variables, begin, strict=True):
            change = 1.0 + RELATIVE_CHANGE * generator.uniform(-1.0, 1.0, value.shape)
            variable.assign((value * change).astype(value.dtype) if value.dtype == np.float32 else value)
        loss, gradient = _step(case, model, measure, batch)
        losses.append(relative_error(loss, first_loss))
        gradients.append(relative_error(gradient, first_gradient))
    return {"loss": max(losses), "gradient": max(gradients)}


def _step(case: Application, model: Any, measure: Measure, batch: Batch) -> tuple[float, Any]:
    with prescribed_draws(1, case.batch_size), tf.GradientTape() as tape:
        loss = measure.loss(batch, model(batch.x[0], training=True), training=True)
    gradients = tape.gradient(loss, model.trainable_variables)
    return float(loss), flat([tf.convert_to_tensor(g) for g in gradients])


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(json.dumps([sorted(APPLICATIONS), missing_families()]))
    else:
        print(json.dumps(run(sys.argv[2], Path(sys.argv[1]))))
