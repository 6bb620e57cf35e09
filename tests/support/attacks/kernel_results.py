"""Trains the gallery's CIFAR network on made-up pictures with the TensorFlow peer's own trainer.

Usage: `python -m tests.support.attacks.kernel_results BUNDLE FILE SEED STEPS...`. FILE gets an array
[plans, P] of float32: the update of a plan of each number of steps. The environment chooses the kernels.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from backend.peer.data.shards import Examples
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.step import never
from backend.peer.training.trainer import Trainer, TrainingPlan

CLASSES, EXAMPLES = 10, 400


def pictures() -> Examples:
    """Returns pictures of each class's own colours and shapes, under much noise."""
    generator = np.random.default_rng(1)
    labels = generator.integers(0, CLASSES, EXAMPLES).astype(np.int32)
    classes = generator.normal(0, 1, (CLASSES, 32, 32, 3))
    x = (classes[labels] + generator.normal(0, 2, (EXAMPLES, 32, 32, 3))).astype(np.float32)
    return Examples((x,), (labels,), np.ones(EXAMPLES, np.float32))


def main() -> None:
    """Trains all plans."""
    bundle, seed = Path(sys.argv[1]), int(sys.argv[3])
    names = open_bundle(bundle, ()).manifest.graphs
    trainer = Trainer(import_graphs(open_bundle(bundle, names), "cpu"))
    weights, examples = np.fromfile(bundle / "weights.bin", "<f4"), pictures()
    updates = [
        trainer.train(
            weights,
            TrainingPlan(epochs=0, steps=int(steps), learning_rate=0.001, seed=seed),
            examples,
            never,
            lambda _: None,
        ).update
        for steps in sys.argv[4:]
    ]
    np.save(sys.argv[2], np.array(updates, np.float32))


if __name__ == "__main__":
    main()
