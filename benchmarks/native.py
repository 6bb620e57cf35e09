"""Milliseconds of TensorFlow's step: `python -m benchmarks.native STEPS BUNDLE...` prints JSON."""

from __future__ import annotations

import json
import statistics
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from backend.peer.graphs import import_graphs, open_bundle
from backend.peer.shards import zero_examples
from backend.peer.trainer import Plan, Trainer


def step_ms(bundle: Path, steps: int) -> float:
    """Median over five trainings of `steps` steps each, after one to warm up."""
    graphs = import_graphs(open_bundle(bundle, ("train", "apply")), "cpu")
    manifest, trainer = graphs.manifest, Trainer(graphs)
    examples = steps * manifest.batch_size
    generator = np.random.default_rng(1)
    zeros = zero_examples(manifest, examples)
    x = tuple(np.asarray(generator.uniform(size=values.shape), values.dtype) for values in zeros.x)
    data = [replace(zeros, x=x)]
    weights = np.fromfile(bundle / "weights.bin", "<f4")
    plan, never = Plan(epochs=1, learning_rate=0.001, seed=1), threading.Event()
    times = [trainer.train(weights, plan, data, never, lambda _: None).step_ms for _ in range(6)]
    return statistics.median(times[1:])


def main() -> None:
    steps = int(sys.argv[1])
    print(json.dumps({Path(name).name: step_ms(Path(name), steps) for name in sys.argv[2:]}))


if __name__ == "__main__":
    main()
