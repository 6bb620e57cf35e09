"""Measures what an LSTM over a long sequence costs once a graph holds every step of it.

Usage: python -m benchmarks.costs.long_sequences [--steps N...] [--json]

A row has the bundle's size, what a browser fetches of it to train (compressed, as servers send it), the
conversion's time, and a training step of the bundle beside Keras' own `train_on_batch` of the same model,
which loops over the sequence. Both steps run on one core with TensorFlow; each is the best of several.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.support.native_step import step_ms, use_one_core

STEPS = (50, 200, 800)
# The environment before this process is kept on one core.
CALLER = dict(os.environ)
UNITS, FEATURES, BATCH = 50, 8, 8
# Of the bundle and of Keras, for each measured time.
TRAINING_STEPS, KERAS_STEPS = 3, 30
TASK = f"""name = "sequence"
[model]
batch_size = {BATCH}
loss = "mean_squared_error"
optimizer = {{ name = "adam", learning_rate = 0.001 }}
"""


def build_model(steps: int) -> Any:
    """Builds an LSTM of 50 units with 11,851 parameters, whatever the number of steps."""
    import keras

    keras.utils.set_random_seed(5)
    parts = [keras.Input((steps, FEATURES)), keras.layers.LSTM(UNITS), keras.layers.Dense(1)]
    model = keras.Sequential(parts)
    model.compile(keras.optimizers.Adam(0.001), "mean_squared_error")
    return model


def keras_step_ms(model: Any, steps: int) -> float:
    """Returns the best time of Keras' `train_on_batch`, after one that traces it."""
    import numpy as np

    draw = np.random.default_rng(1)
    x = draw.normal(size=(BATCH, steps, FEATURES)).astype("float32")
    y = draw.normal(size=(BATCH, 1)).astype("float32")
    times = []
    for _ in range(KERAS_STEPS + 1):
        began = time.perf_counter()
        model.train_on_batch(x, y)
        times.append(time.perf_counter() - began)
    return 1000 * min(times[1:])


def convert_seconds(folder: Path, cores: set[int]) -> float:
    """Converts the model in `folder` as its owner would, on `cores`; returns the seconds that it takes."""
    command = [sys.executable, "-m", "converter", str(folder / "model.keras")]
    command += ["--task", str(folder / "task.toml"), "-o", str(folder / "bundle")]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=CALLER
    ) as process:
        os.sched_setaffinity(process.pid, cores)
    assert process.returncode == 0
    return time.perf_counter() - began


def measure(steps: int) -> dict[str, Any]:
    """Returns one row; runs in a separate process, since its core is chosen once."""
    cores = os.sched_getaffinity(0)
    use_one_core()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "task.toml").write_text(TASK)
        model = build_model(steps)
        model.save(folder / "model.keras")
        seconds = convert_seconds(folder, cores)
        bundle = folder / "bundle"
        files = [path for path in bundle.rglob("*") if path.is_file()]
        fetched = [bundle / "bundle.json", *bundle.glob("train/*"), *bundle.glob("apply/*")]
        ours, theirs = step_ms(bundle, TRAINING_STEPS), keras_step_ms(model, steps)
        return {
            "steps": steps,
            "parameters": model.count_params(),
            "bundle_bytes": sum(path.stat().st_size for path in files),
            "fetched_bytes": sum(len(gzip.compress(path.read_bytes())) for path in fetched),
            "convert_seconds": round(seconds, 1),
            "step_ms": round(ours, 2),
            "keras_step_ms": round(theirs, 2),
            "ratio_to_keras": round(ours / theirs, 3),
        }


def print_table(rows: list[dict[str, Any]]) -> None:
    print("steps     bundle   fetched conversion       step      Keras  ratio")
    for row in rows:
        size, fetched = f"{row['bundle_bytes'] / 1e6:.1f} MB", f"{row['fetched_bytes'] / 1e3:.0f} kB"
        steps = f"{row['step_ms']:>7} ms {row['keras_step_ms']:>7} ms {row['ratio_to_keras']:>6}"
        print(f"{row['steps']:>5} {size:>10} {fetched:>9} {row['convert_seconds']:>8} s {steps}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures an LSTM over long sequences.")
    parser.add_argument("--steps", nargs="+", type=int, default=list(STEPS))
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    options = parser.parse_args()
    if len(options.steps) == 1:
        rows = [measure(options.steps[0])]
    else:
        rows = [_measured_apart(steps) for steps in options.steps]
    if options.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print_table(rows)


def _measured_apart(steps: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.costs.long_sequences", "--steps", str(steps), "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    row: dict[str, Any] = json.loads(done.stdout)["rows"][0]
    return row


if __name__ == "__main__":
    main()
