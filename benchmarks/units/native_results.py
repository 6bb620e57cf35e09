"""Trains one model's plans with the TensorFlow peer for benchmarks.units.tolerance.

Usage: `python -m benchmarks.units.native_results FOLDER SIDE THREADS`. FOLDER has bundle/, data.shard and
wanted.json: starts, each as a number of steps after the first weights, and lengths of plans in steps. For
each start the weights are written (`START.weights`) unless another side wrote them, and for each plan and its
half the update (`START.SEED.STEPS.SIDE`). THREADS is TensorFlow's number of them, or 0 for its own choice.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

from backend.peer.data.shards import read_shard
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.step import never
from backend.peer.training.trainer import Trainer, TrainingPlan


def main() -> None:
    """Trains all plans of one model."""
    folder, side, threads = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    plans = json.loads((folder / "wanted.json").read_text("utf-8"))
    names = open_bundle(folder / "bundle", ()).manifest.graphs
    graphs = import_graphs(open_bundle(folder / "bundle", names), "cpu")
    trainer = Trainer(graphs)
    examples = read_shard((folder / "data.shard").read_bytes(), graphs.manifest)
    weights = np.fromfile(folder / "bundle" / "weights.bin", "<f4")

    def update(start: np.ndarray[tuple[int], np.dtype[np.float32]], steps: int, seed: int) -> bytes:
        plan = TrainingPlan(epochs=0, steps=steps, learning_rate=plans["learning_rate"], seed=seed)
        return trainer.train(start, plan, examples, never, lambda _: None).content()

    for first_steps in plans["starts"]:
        path = folder / f"{first_steps}.weights"
        if not path.exists():
            start = weights
            if first_steps:
                start = weights + np.frombuffer(update(weights, first_steps, plans["seeds"][0] - 1), "<f4")
            path.write_bytes(start.astype("<f4").tobytes())
        start = np.fromfile(path, "<f4")
        lengths = sorted({number // part for number in plans["steps"] for part in (1, 2)} - {0})
        for seed, steps in itertools.product(plans["seeds"], lengths):
            (folder / f"{first_steps}.{seed}.{steps}.{side}").write_bytes(update(start, steps, seed))


if __name__ == "__main__":
    main()
