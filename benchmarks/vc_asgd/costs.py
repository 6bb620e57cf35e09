"""Measures what the virtual experiments of VC-ASGD assume: the paper's model on one core of this machine.

Usage: python -m benchmarks.vc_asgd.costs [--steps N] [--json]

Two shallow networks are measured, and their difference is extended to the depth of the paper's, whose tracing
alone would take minutes: each further block of a stage costs the same. Times are the processor's, not the
clock's, so that other programs disturb them little.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.support.training_run import ONE_CORE

# Blocks of each of the three stages; 18 make a network of 164 layers and about 5 million parameters.
BLOCKS = 18
MEASURED_BLOCKS = (2, 4)
BATCH = 32


@dataclass(frozen=True)
class ModelCosts:
    """Processor seconds of one core for one image, in training and in evaluation."""

    parameters: int
    train: float
    evaluate: float


def build(blocks: int) -> Any:
    """Builds ResNetV2 of bottlenecks (He et al. 2016b) for CIFAR-10; needs Keras."""
    import keras

    layers = keras.layers

    def convolve(x: Any, filters: int, size: int, strides: int = 1) -> Any:
        return layers.Conv2D(filters, size, strides=strides, padding="same")(x)

    def activate(x: Any) -> Any:
        return layers.ReLU()(layers.BatchNormalization()(x))

    inputs = keras.Input((32, 32, 3))
    x = activate(convolve(inputs, 16, 3))
    inner = 16
    for stage in range(3):
        outer = 4 * inner if stage == 0 else 2 * inner
        for block in range(blocks):
            strides = 2 if stage and not block else 1
            y = x if not stage and not block else activate(x)
            y = activate(convolve(y, inner, 1, strides))
            y = convolve(activate(convolve(y, inner, 3)), outer, 1)
            x = layers.Add()([x if block else convolve(x, outer, 1, strides), y])
        inner = outer
    x = layers.GlobalAveragePooling2D()(activate(x))
    return keras.Model(inputs, layers.Dense(10, activation="softmax")(x))


def extended(shallow: ModelCosts, deep: ModelCosts, blocks: int = BLOCKS) -> ModelCosts:
    """Returns the costs with so many blocks, from those of MEASURED_BLOCKS."""
    few, more = MEASURED_BLOCKS
    factor = (blocks - few) / (more - few)

    def extend(first: float, second: float) -> float:
        return first + factor * (second - first)

    return ModelCosts(
        round(extend(shallow.parameters, deep.parameters)),
        extend(shallow.train, deep.train),
        extend(shallow.evaluate, deep.evaluate),
    )


def measure(blocks: int, steps: int) -> ModelCosts:
    """Measures the median of `steps` batches of random images, after one that compiles."""
    import numpy as np

    model = build(blocks)
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", jit_compile=False)
    random = np.random.default_rng(1)
    x, y = random.random((BATCH, 32, 32, 3), np.float32), random.integers(0, 10, BATCH)
    train = _median(steps, lambda: model.train_on_batch(x, y)) / BATCH
    evaluate = _median(steps, lambda: model.test_on_batch(x, y)) / BATCH
    return ModelCosts(model.count_params(), train, evaluate)


def _median(steps: int, work: Callable[[], object]) -> float:
    work()
    durations = []
    for _ in range(steps):
        began = time.process_time()
        work()
        durations.append(time.process_time() - began)
    return statistics.median(durations)


def main() -> None:
    """Prints the costs."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.vc_asgd.costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--steps", type=int, default=10, help="batches measured; default 10")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    if options.steps < 1:
        sys.exit("--steps is at least 1.")
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE | {"KERAS_BACKEND": "tensorflow"}
    shallow, deep = (measure(blocks, options.steps) for blocks in MEASURED_BLOCKS)
    costs = extended(shallow, deep)
    if options.json:
        print(json.dumps(asdict(costs)))
        return
    print(
        f"{costs.parameters:,} parameters: {1000 * costs.train:.1f} ms an image in training, "
        f"{1000 * costs.evaluate:.1f} ms in evaluation, on one core"
    )


if __name__ == "__main__":
    main()
