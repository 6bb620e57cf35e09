"""Local training by a plan: the same walk over the same examples as the browser's worker, in TensorFlow."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import PeerError
from backend.numerics.philox import MAX_EXAMPLES, batches
from backend.peer.graphs import Graphs, Tensor, import_tensorflow
from backend.peer.shards import Examples, join_shards, zero_examples
from backend.services.manifest import MetricSpec

Vector = NDArray[np.float32]
Carry = dict[str, Tensor]


@dataclass(frozen=True)
class Plan:
    """What one round asks of a participant; `past_steps` is where a learning-rate schedule stands."""

    epochs: int
    learning_rate: float
    seed: int
    past_steps: int = 0


@dataclass(frozen=True)
class Progress:
    """After `step` of `steps`: means over the examples so far, weighted."""

    step: int
    steps: int
    loss: float
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Result:
    """`update` [P] is local minus global; `examples` counts each epoch's visit to an example.

    `sums` has a numerator and a denominator for each row of the metrics.
    """

    update: Vector
    examples: int
    steps: int
    loss: float
    sums: list[tuple[float, float]]
    step_ms: float


class Trainer:
    """Runs plans on the train and apply graphs of one bundle. Owned by one thread at a time."""

    def __init__(self, graphs: Graphs) -> None:
        self._tf = import_tensorflow()
        self._manifest = graphs.manifest
        self.backend = graphs.backend
        self._step = self._tf.function(_step_of(self._tf, graphs), autograph=False)

    def train(
        self,
        weights: Vector,
        plan: Plan,
        shards: Sequence[Examples],
        stop: threading.Event,
        report: Callable[[Progress], None],
    ) -> Result:
        """Trains from `weights` [P] over all examples of `shards`, `plan.epochs` times.

        A set `stop` ends after the current step; the result is then that of the steps done. `report` is
        called now and then, from this thread. Raises PeerError when weights or examples do not fit, or
        TensorFlow fails (for want of memory, for example).
        """
        examples = self._examples(weights, shards)
        try:
            return self._run(weights, plan, examples, stop, report)
        except self._tf.errors.OpError as error:
            cause = error.message.partition("\n")[0]
            raise PeerError(
                f"TensorFlow failed ({cause}); a smaller batch or --device cpu may help."
            ) from error

    def _run(
        self,
        weights: Vector,
        plan: Plan,
        examples: Examples,
        stop: threading.Event,
        report: Callable[[Progress], None],
    ) -> Result:
        planned = self._walk(plan, len(examples))
        carry = self._start(weights)
        rate = np.float32(plan.learning_rate)
        began = reported = time.perf_counter()
        done = 0
        for rows in planned:
            if stop.is_set():
                break
            done += 1
            batch = examples.batch(rows, self._manifest.batch_size)
            carry = self._step(carry, batch, rate, np.array([plan.seed, done, plan.past_steps]))
            if (now := time.perf_counter()) - reported > 0.25 and done < len(planned):
                reported = now
                _, loss, metrics = self._means(carry)
                report(Progress(done, len(planned), loss, metrics))
        count, loss, metrics = self._means(carry)
        sums = pairs(carry["totals"].numpy())
        update = self._end(carry) - weights
        step_ms = 1000 * (time.perf_counter() - began) / max(done, 1)
        report(Progress(done, len(planned), loss, metrics))
        return Result(update, round(count), done, loss, sums, step_ms)

    def time_step(self) -> float:
        """Milliseconds that one step takes on zeros, after a first one that lets TensorFlow settle."""
        manifest = self._manifest
        zeros = zero_examples(manifest, manifest.batch_size)
        weights = np.zeros(manifest.parameters.total, np.float32)
        plan = Plan(epochs=1, learning_rate=0.0, seed=0)
        never = threading.Event()
        self.train(weights, plan, [zeros], never, lambda _: None)
        return self.train(weights, plan, [zeros], never, lambda _: None).step_ms

    def _examples(self, weights: Vector, shards: Sequence[Examples]) -> Examples:
        total = self._manifest.parameters.total
        if weights.shape != (total,):
            raise PeerError(
                f"The version has {weights.size} values where the bundle has {total}; reload the task."
            )
        if not shards or not (examples := join_shards(shards)):
            raise PeerError("The plan holds no examples; tell the task's owner.")
        if len(examples) > MAX_EXAMPLES:
            raise PeerError(
                f"The plan holds over {MAX_EXAMPLES} examples; the task's owner must lower shards_per_client."
            )
        return examples

    def _walk(self, plan: Plan, examples: int) -> list[NDArray[np.int64]]:
        """The example numbers of every step of every epoch."""
        size = self._manifest.batch_size
        epochs = range(1, plan.epochs + 1)
        return [rows for epoch in epochs for rows in batches(plan.seed, epoch, examples, size)]

    def _start(self, weights: Vector) -> Carry:
        tf, sizes = self._tf, self._manifest.parameters
        return {
            "trainable": tf.constant(weights[: sizes.trainable]),
            "state": tf.constant(weights[sizes.trainable :]),
            "slots": tf.zeros([self._manifest.optimizer.slots, sizes.trainable], tf.float32),
            "totals": tf.zeros([totals_size(self._manifest.metrics)], tf.float64),
        }

    def _end(self, carry: Carry) -> Vector:
        return np.concatenate([carry["trainable"].numpy(), carry["state"].numpy()])

    def _means(self, carry: Carry) -> tuple[float, float, dict[str, float]]:
        """Examples so far, and the means of loss and metrics over them."""
        return means(carry["totals"].numpy(), self._manifest.metrics)


def _step_of(tf: Any, graphs: Graphs) -> Callable[..., Carry]:
    """One training step in one TensorFlow call: random inputs, gradient, local optimizer, running totals.

    `key` [3], int64, is the plan's seed, the step's number, from 1, and the steps of earlier rounds.
    """
    manifest = graphs.manifest
    train, apply = graphs.run["train"], graphs.run["apply"]

    def step(carry: Carry, batch: dict[str, Tensor], learning_rate: Tensor, key: Tensor) -> Carry:
        draws = {
            spec.name: tf.random.stateless_uniform(
                spec.shape, seed=tf.stack([key[0], key[1] + (stream << 32)]), alg="philox"
            )
            for stream, spec in enumerate(manifest.random)
        }
        grown = train({**carry, **batch, **draws})
        rates = {
            "learning_rate": learning_rate,
            "step": tf.cast(key[1], tf.float32),
            "past_steps": tf.cast(key[2], tf.float32),
        }
        moved = apply({**carry, **rates, "gradient": grown["gradient"]})
        return {
            "trainable": moved["new_trainable"],
            "state": grown.get("new_state", carry["state"]),
            "slots": moved.get("new_slots", carry["slots"]),
            "totals": carry["totals"] + totals(tf, grown, batch["sample_weight"]),
        }

    return step


def totals(tf: Any, outputs: Mapping[str, Tensor], sample_weight: Tensor) -> Tensor:
    """[examples, examples * loss, each metric's numerator and denominator] of one batch, float64."""
    count = tf.reduce_sum(tf.cast(sample_weight > 0.0, tf.float64))
    parts = [tf.stack([count, count * tf.cast(outputs["loss"], tf.float64)])]
    if "metrics" in outputs:
        parts.append(tf.reshape(tf.cast(outputs["metrics"], tf.float64), [-1]))
    return tf.concat(parts, axis=0)


def means(
    summed: NDArray[np.float64], metrics: Sequence[MetricSpec]
) -> tuple[float, float, dict[str, float]]:
    """Examples, mean loss and metrics of `totals` added up over some batches."""
    count, loss = summed[:2].tolist()
    sums = pairs(summed)
    starts = accumulate((spec.rows for spec in metrics), initial=0)
    values = {
        spec.name: spec.value(sums[start : start + spec.rows])
        for spec, start in zip(metrics, starts, strict=False)
    }
    return count, loss / max(count, 1.0), values


def pairs(summed: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Each metric row's numerator and denominator in `totals`."""
    sums: list[float] = summed[2:].tolist()
    return list(zip(sums[::2], sums[1::2], strict=True))


def totals_size(metrics: Sequence[MetricSpec]) -> int:
    """The length of `totals`."""
    return 2 + 2 * sum(spec.rows for spec in metrics)
