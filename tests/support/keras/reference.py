"""Write bundles beside what Keras itself computes on the same weights, data and random numbers.

Usage: python -m tests.support.keras.reference -o DIR [cnn ...]

DIR/<case>/ holds the bundle and, in reference/:
  case.json                  what the case exercises, what it was made from, its larger limit if it has one
  inputs.json, inputs.bin    seed and ten batches: x_0.., y_0.., sample_weight with dtype, shape, byte offset
  expected.json              loss and metrics of each step, and of `evaluate` before the first; metrics are
                             values by the manifest's names
  gradient.bin               float32 [T]: gradient of the first step
  vector.bin                 float32 [P]: the flat vector after ten optimizer steps
  output_0.bin, ...          float32 [B, ...]: `predict` of the first batch before the first step

No part of the converter computes here: the real model runs eagerly under its Keras optimizer, short batches
really are short, and random layers read the uniforms that docs/reference/bundle.md prescribes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

# TensorFlow reads these at import, in this process and in the pool's.
os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import numpy as np
import tensorflow as tf
from keras import tree
from keras.src.backend.tensorflow import random as keras_random

from converter.bundle.bundle_writer import write_bundle
from converter.conversion_task import read_task
from converter.sandbox.process_limits import Limits
from tests.support.keras.cases import Batch, Case, pack_inputs, pack_outputs
from tests.support.keras.source_digest import ZOO, digest, is_fresh, sources_digest
from tests.support.keras.zoo import CASES, FAMILIES
from tests.support.programs.program_process import Preload, run

SEED = 11
STEPS = 10


def uniform_input(shape: tuple[int, ...], seed: int, step: int, index: int) -> Any:
    """Returns `random_<index>` in `step` (from 1) of a plan with `seed`: float32 in [0, 1)."""
    key = tf.constant([seed, step + (index << 32)], tf.int64)
    return tf.random.stateless_uniform(shape, key, alg="philox")


@contextmanager
def prescribed_draws(step: int, batch_size: int) -> Iterator[None]:
    """While open, Keras' random layers read the uniforms of `step`; a short batch its first rows."""
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
    """Returns the values of variables or gradients as one float32 vector."""
    return np.concatenate([np.asarray(v, np.float32).ravel() for v in values])


def state_variables(model: Any) -> list[Any]:
    """Returns non-trainable float variables, which follow the trainable ones in the flat vector."""
    return [v for v in model.non_trainable_variables if v.dtype == "float32"]


class Measure:
    """Runs Keras' own `compute_loss` and `compute_metrics` on one model."""

    def __init__(self, case: Case, model: Any) -> None:
        self._case, self._model = case, model

    def loss(self, batch: Batch, output: Any, training: bool) -> Any:
        """Returns the scalar loss of the whole batch, including regularization."""
        x, y, weight = self._packed(batch, output)
        return self._model.compute_loss(x, y, output, weight, training=training)

    def metrics(self, batch: Batch, output: Any) -> dict[str, float]:
        """Returns the batch's metrics by Keras' names, which are the manifest's; call it after `loss`."""
        x, y, weight = self._packed(batch, output)
        values = self._model.compute_metrics(x, y, output, weight)
        self._model.reset_metrics()
        return {name: float(value) for name, value in values.items() if name != "loss"}

    def _packed(self, batch: Batch, output: Any) -> tuple[Any, Any, Any]:
        measured = [o for o, make in zip(tree.flatten(output), self._case.y, strict=True) if make is not None]
        # Every position of a sequence has its example's weight.
        weights = [_at_positions(batch.sample_weight, o.shape[1:-1]) for o in measured]
        pack = partial(pack_outputs, self._case, self._model)
        return pack_inputs(self._model, batch.x), pack(list(batch.y)), pack(weights)


def _at_positions(weight: Any, positions: Any) -> Any:
    shape = (len(weight), *positions)
    return np.broadcast_to(weight.reshape(-1, *[1] * len(positions)), shape)


def keras_run(case: Case, directory: Path, steps: int = STEPS) -> None:
    """Trains with Keras alone and writes the results into `directory`."""
    model, batches = case.compiled(), case.batches(steps)
    measure = Measure(case, model)
    expected: dict[str, Any] = {"losses": [], "metrics": []}
    output = model(pack_inputs(model, batches[0].x), training=False)
    expected["evaluate"] = {
        "loss": float(measure.loss(batches[0], output, training=False)),
        "metrics": measure.metrics(batches[0], output),
    }
    for k, array in enumerate(tree.flatten(output)):
        np.asarray(array, "<f4").tofile(directory / f"output_{k}.bin")
    for step, padded in enumerate(batches, 1):
        batch = padded.rows(int((padded.sample_weight > 0).sum()))
        with prescribed_draws(step, case.batch_size), tf.GradientTape() as tape:
            output = model(pack_inputs(model, batch.x), training=True)
            loss = measure.loss(batch, output, training=True)
        gradients = tape.gradient(loss, model.trainable_variables)
        if step == 1:
            flat([tf.convert_to_tensor(g) for g in gradients]).tofile(directory / "gradient.bin")
        model.optimizer.apply(gradients, model.trainable_variables)
        expected["losses"].append(float(loss))
        expected["metrics"].append(measure.metrics(batch, output))
    flat(model.trainable_variables + state_variables(model)).tofile(directory / "vector.bin")
    (directory / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


def write_inputs(case: Case, directory: Path, steps: int = STEPS) -> None:
    """Writes the batches in a form that browsers can read."""
    batches, blob = [], bytearray()
    for arrays in case.batches(steps):
        batch = {}
        for name, array in arrays.named().items():
            batch[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": len(blob)}
            blob += array.tobytes()
        batches.append(batch)
    (directory / "inputs.bin").write_bytes(blob)
    table = {"seed": SEED, "batches": batches}
    (directory / "inputs.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")


def write_bundle_folder(case: Case, directory: Path) -> None:
    """Converts into `directory`, which must not exist.

    The command converts cases with their own layers, which must not be known from this process.
    """
    with tempfile.TemporaryDirectory() as temporary:
        model_file, task_file = Path(temporary, "model.keras"), Path(temporary, "task.toml")
        case.model().save(model_file)
        task_file.write_text(case.task_toml(), "utf-8")
        if case.layers is None:
            directory.mkdir(parents=True)
            write_bundle(model_file, read_task(task_file), directory, Limits())
            return
        words: list[str | Path] = [model_file, "--task", task_file, "--custom", case.layers, "-o", directory]
        done = run(Preload.CONVERTER, "converter", *words)
        if done.returncode:
            raise RuntimeError(done.stdout + done.stderr[-2000:])


def write_case(name: str, output: Path) -> None:
    """Writes bundle and reference of a case into its folder in `output`, replacing older files."""
    case, family = CASES[name], FAMILIES[name]
    with tempfile.TemporaryDirectory(dir=output, prefix=".making-") as temporary:
        directory = Path(temporary) / name
        write_bundle_folder(case, directory)
        reference = directory / "reference"
        reference.mkdir()
        write_inputs(case, reference)
        keras_run(case, reference)
        table = {
            "family": family,
            "made_from": sources_digest(family),
            "exercises": case.exercises,
            "allowance": asdict(case.allowance) if case.allowance else None,
        }
        (reference / "case.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")
        shutil.rmtree(output / name, ignore_errors=True)
        directory.rename(output / name)


def main() -> int:
    """Writes those of the named cases that are missing or were made from other sources."""
    parser = argparse.ArgumentParser(description="Bundles and Keras' own results for the conformance tests.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*", help="cases; all if none is named")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    stale = [name for name in args.names or CASES if not is_fresh(args.output / name)]
    # Separate processes, since TensorFlow's graphs and the patches are global to a process.
    with ProcessPoolExecutor(min(args.jobs, len(stale)) or 1, get_context("spawn")) as pool:
        made = {name: pool.submit(write_case, name, args.output) for name in stale}
        faults = {name: future.exception() for name, future in made.items()}
    if not args.names:
        index = {"zoo": digest(ZOO.glob("*.py")), "names": list(CASES)}
        (args.output / "index.json").write_text(json.dumps(index) + "\n", "utf-8")
    told = [f"{name}: {type(fault).__name__}: {fault}\n" for name, fault in faults.items() if fault]
    sys.stderr.writelines(told)
    return 1 if told else 0


if __name__ == "__main__":
    raise SystemExit(main())
