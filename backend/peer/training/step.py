"""One training step in one TensorFlow call, and the sums that steps and evaluations add up."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import MetricSpec
from backend.peer.training.graphs import Graphs, Tensor
from backend.peer.training.private_step import clipped_outputs

Vector = NDArray[np.float32]
# Asked before each step with the steps done and the seconds that the next one will take; True ends the work.
Halt = Callable[[int, float], bool]
Carry = dict[str, Tensor]
Totals = NDArray[np.float64]
Sums = list[tuple[float, float]]


def step_of(tf: Any, graphs: Graphs) -> Callable[..., Carry]:
    """One step: random inputs, gradient, corrections, local optimizer, running totals.

    `key` [3], int64, is the plan's seed, the step's number, from 1, and the steps of earlier rounds.
    With `microbatch` the gradient is private: `bound` has the norm `clip` [], the `noise` [T], and how many
    `microbatches` [] a step has by the plan, what the noised sum is divided by.
    """
    manifest = graphs.manifest
    train, apply = graphs.run["train"], graphs.run["apply"]

    def step(
        carry: Carry,
        batch: Mapping[str, Tensor],
        learning_rate: Tensor,
        key: Tensor,
        corrections: Mapping[str, Tensor],
        bound: Mapping[str, Tensor],
        microbatch: int = 0,
    ) -> Carry:
        draws = {
            spec.name: tf.random.stateless_uniform(
                spec.shape, seed=tf.stack([key[0], key[1] + (stream << 32)]), alg="philox"
            )
            for stream, spec in enumerate(manifest.random)
        }
        inputs = {**carry, **batch, **draws}
        if microbatch:
            grown = clipped_outputs(tf, graphs, microbatch, bound["clip"], inputs)
            gradient = (grown["gradient"] + bound["noise"]) / bound["microbatches"]
        else:
            grown = train(inputs)
            gradient = grown["gradient"]
        rates = {
            "learning_rate": learning_rate,
            "step": tf.cast(key[1], tf.float32),
            "past_steps": tf.cast(key[2], tf.float32),
        }
        gradient = corrected(gradient, carry["trainable"], corrections)
        moved = apply({**carry, **rates, "gradient": gradient})
        return {
            "trainable": moved["new_trainable"],
            "state": grown.get("new_state", carry["state"]),
            "slots": moved.get("new_slots", carry["slots"]),
            "totals": carry["totals"] + totals(tf, grown, batch["sample_weight"]),
        }

    return step


def corrected(gradient: Tensor, trainable: Tensor, corrections: Mapping[str, Tensor]) -> Tensor:
    """The gradient [T] after what a plan adds to it.

    `start` [T] and `mu` []: mu * (trainable - start), FedProx (Li et al. 2020, alg. 2);
    `drift` [T]: c - c_i, SCAFFOLD (Karimireddy et al. 2020, alg. 1).
    """
    if "start" in corrections:
        gradient = gradient + corrections["mu"] * (trainable - corrections["start"])
    if "drift" in corrections:
        gradient = gradient + corrections["drift"]
    return gradient


def totals(tf: Any, outputs: Mapping[str, Tensor], sample_weight: Tensor) -> Tensor:
    """[examples, examples * loss, each metric's numerator and denominator] of one batch, float64."""
    count = tf.reduce_sum(tf.cast(sample_weight > 0.0, tf.float64))
    parts = [tf.stack([count, count * tf.cast(outputs["loss"], tf.float64)])]
    if "metrics" in outputs:
        parts.append(tf.reshape(tf.cast(outputs["metrics"], tf.float64), [-1]))
    return tf.concat(parts, axis=0)


def totals_size(metrics: Sequence[MetricSpec]) -> int:
    """The length of `totals`."""
    return 2 + 2 * sum(spec.rows for spec in metrics)


def read_totals(summed: Totals) -> tuple[int, float, Sums]:
    """Examples, mean loss and the metrics' [numerator, denominator] of `totals` added up."""
    count, loss, *sums = summed.tolist()
    return round(count), loss / max(count, 1.0), list(zip(sums[::2], sums[1::2], strict=True))


def never(done: int, step_seconds: float) -> bool:
    """A Halt that lets the work go to its end."""
    del done, step_seconds
    return False
