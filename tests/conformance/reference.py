"""Write bundles beside what Keras itself computes on the same weights, data and random numbers.

Usage: python -m tests.conformance.reference -o DIR [--only cnn]

DIR/<case>/ holds the bundle and, in reference/:
  inputs.json, inputs.bin    seed and ten batches: x, y, sample_weight, each with dtype, shape, byte offset
  expected.json              loss and metrics of each step, and of `evaluate` before the first
  gradient.bin               float32 [T]: gradient of the first step
  vector.bin                 float32 [P]: the flat vector after ten optimizer steps
  output.bin                 float32 [B, ...]: `predict` of the first batch before the first step

No part of the converter computes here: the real model runs eagerly under its Keras optimizer, short batches
really are short, and random layers read the uniforms that docs/reference/bundle.md prescribes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow import random as keras_random

from tests.conformance.models import CASES, Case

SEED = 11
STEPS = 10


def uniform_input(shape: tuple[int, ...], seed: int, step: int, index: int) -> Any:
    """The values of `random_<index>` in `step` (from 1) of a plan with `seed`: float32 in [0, 1)."""
    key = tf.constant([seed, step + (index << 32)], tf.int64)
    return tf.random.stateless_uniform(shape, key, alg="philox")


@contextmanager
def prescribed_draws(step: int, batch_size: int) -> Iterator[None]:
    """Keras' random layers read the uniforms of `step`; a short batch takes its first rows."""
    count = 0

    def draw(shape: Any) -> Any:
        nonlocal count
        rows, *rest = (int(n) for n in shape)
        count += 1
        return uniform_input((batch_size, *rest), SEED, step, count - 1)[:rows]

    def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
        shape = [
            own if n is None else n for own, n in zip(inputs.shape, noise_shape or inputs.shape, strict=True)
        ]
        return tf.where(draw(shape) >= rate, inputs / (1.0 - rate), 0.0)

    def normal(
        shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None
    ) -> Any:
        first, second = draw(shape).numpy().astype(np.float64), draw(shape).numpy().astype(np.float64)
        values = np.sqrt(-2.0 * np.log1p(-first)) * np.cos(2.0 * np.pi * second)
        return mean + stddev * tf.constant(values, tf.float32)

    with patch.multiple(keras_random, dropout=dropout, normal=normal):
        yield


def flat(values: list[Any]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Values of variables or gradients as one float32 vector."""
    return np.concatenate([np.asarray(v, np.float32).ravel() for v in values])


def state_variables(model: Any) -> list[Any]:
    """Non-trainable float variables, which the flat vector holds after the trainable ones."""
    return [v for v in model.non_trainable_variables if v.dtype == "float32"]


def measure(case: Case, y: Any, output: Any, weight: Any) -> list[float]:
    """Keras' metrics of one batch."""
    values = []
    for make in case.metrics:
        metric = make()
        metric.update_state(y, output, sample_weight=_weights(output, weight))
        values.append(float(metric.result()))
    return values


def keras_run(case: Case, directory: Path) -> None:
    """Train with Keras alone and write what came out into `directory`."""
    model, batches = case.model(), case.batches(STEPS)
    loss_of, optimizer = case.loss(reduction="mean_with_sample_weight"), case.optimizer()
    expected: dict[str, Any] = {"losses": [], "metrics": []}
    x, y, weight = batches[0]
    output = model(x, training=False)
    expected["evaluate"] = {
        "loss": float(_mean_loss(loss_of, y, output, weight) + sum(model.losses)),
        "metrics": measure(case, y, output, weight),
    }
    np.asarray(output, "<f4").tofile(directory / "output.bin")
    for step, (x, y, weight) in enumerate(batches, 1):
        rows = int((weight > 0).sum())
        x, y, weight = x[:rows], y[:rows], weight[:rows]
        with prescribed_draws(step, case.batch_size), tf.GradientTape() as tape:
            output = model(x, training=True)
            loss = _mean_loss(loss_of, y, output, weight) + sum(model.losses)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, model.trainable_variables)]
        if step == 1:
            flat(gradients).tofile(directory / "gradient.bin")
        optimizer.apply(gradients, model.trainable_variables)
        expected["losses"].append(float(loss))
        expected["metrics"].append(measure(case, y, output, weight))
    flat(model.trainable_variables + state_variables(model)).tofile(directory / "vector.bin")
    (directory / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


def _mean_loss(loss_of: Any, y: Any, output: Any, weight: Any) -> Any:
    return loss_of(y, output, sample_weight=_weights(output, weight))


def _weights(output: Any, weight: Any) -> Any:
    # Every position of a sequence has its example's weight.
    return weight if len(output.shape) < 3 else np.repeat(weight[:, None], output.shape[1], axis=1)


def write_inputs(case: Case, directory: Path) -> None:
    """Write the ten batches where a browser can read them."""
    batches, blob = [], bytearray()
    for arrays in case.batches(STEPS):
        batch = {}
        for name, array in zip(("x", "y", "sample_weight"), arrays, strict=True):
            batch[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": len(blob)}
            blob += array.tobytes()
        batches.append(batch)
    (directory / "inputs.bin").write_bytes(blob)
    table = {"seed": SEED, "batches": batches}
    (directory / "inputs.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def write_case(case: Case, directory: Path) -> None:
    """Bundle (converted as a user would) and reference of one case into `directory`, which must not exist."""
    with tempfile.TemporaryDirectory() as temporary:
        model_file, task_file = Path(temporary, "model.keras"), Path(temporary, "task.toml")
        case.model().save(model_file)
        task_file.write_text(case.task_toml(), "utf-8")
        command = [sys.executable, "-m", "converter", str(model_file), "--task", str(task_file)]
        command += ["-o", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{case.name}: {done.stdout}{done.stderr[-2000:]}")
    reference = directory / "reference"
    reference.mkdir()
    write_inputs(case, reference)
    keras_run(case, reference)


def main() -> None:
    """Write the cases that the command line asks for."""
    parser = argparse.ArgumentParser(description="Bundles and Keras' own results for the conformance tests.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", choices=sorted(CASES), action="append")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in args.only or CASES:
        write_case(CASES[name], args.output / name)


if __name__ == "__main__":
    main()
