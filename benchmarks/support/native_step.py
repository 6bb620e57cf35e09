"""Measures TensorFlow's training step on one core.

Usage: `python -m benchmarks.support.native_step STEPS BUNDLE...` prints milliseconds per bundle as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

TRAININGS = 30


def use_one_core() -> None:
    """Keeps this process, and the threads that TensorFlow will start, on one core."""
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def step_ms(bundle: Path, steps: int) -> float:
    """Returns the best mean of several trainings of `steps` steps each, after one warm-up."""
    from backend.peer.data.shards import zero_examples
    from backend.peer.training.graphs import import_graphs, open_bundle
    from backend.peer.training.step import never
    from backend.peer.training.trainer import Trainer, TrainingPlan

    graphs = import_graphs(open_bundle(bundle, ("train", "apply")), "cpu")
    manifest, trainer = graphs.manifest, Trainer(graphs)
    examples = steps * manifest.batch_size
    generator = np.random.default_rng(1)
    zeros = zero_examples(manifest, examples)
    x = tuple(np.asarray(generator.uniform(size=values.shape), values.dtype) for values in zeros.x)
    data = replace(zeros, x=x)
    weights = np.fromfile(bundle / "weights.bin", "<f4")
    plan = TrainingPlan(epochs=1, learning_rate=0.001, seed=1)
    times = [trainer.train(weights, plan, data, never, lambda _: None).step_ms for _ in range(TRAININGS + 1)]
    return min(times[1:])


def main() -> None:
    use_one_core()
    steps = int(sys.argv[1])
    print(json.dumps({Path(name).name: step_ms(Path(name), steps) for name in sys.argv[2:]}))


if __name__ == "__main__":
    main()
