"""Runs one training step in one TensorFlow call, and sums losses and metrics of steps and evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.manifest import Manifest, MetricSpec
from backend.peer.training.graphs import Graphs, Tensor
from backend.peer.training.private_step import clipped_outputs

Vector = NDArray[np.float32]
# Called before each step with the steps done and the expected seconds of the next one; True ends the work.
Halt = Callable[[int, float], bool]
Carry = dict[str, Tensor]
Totals = NDArray[np.float64]
Sums = list[tuple[float, float]]
# As an input `row_squares` of `apply`: the squares are those of the gradient's own values.
OWN_SQUARES = -1.0


def step_of(tf: Any, graphs: Graphs) -> Callable[..., Carry]:
    """Returns a function that runs one step, from random inputs to running totals.

    A step draws random inputs, computes the gradient, corrects it, applies the local optimizer and adds to
    the totals. `key` [3], int64, is the plan's seed, the step's number, from 1, and the steps of earlier
    rounds. With `microbatch` the gradient is private: `bound` has the norm `clip` [], the `noise` [T], and
    the number of `microbatches` [] of a step in the plan, by which the noised sum is divided.
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
        inputs = {**carry, **batch, **random_inputs(tf, manifest, key)}
        if microbatch:
            outputs = clipped_outputs(tf, graphs, microbatch, bound["clip"], inputs)
            gradient = (outputs["gradient"] + bound["noise"]) / bound["microbatches"]
        else:
            outputs = train(inputs)
            gradient = outputs["gradient"]
        rates = {
            "learning_rate": learning_rate,
            "step": tf.cast(key[1], tf.float32),
            "past_steps": tf.cast(key[2], tf.float32),
        }
        gradient = corrected(gradient, carry["trainable"], corrections)
        taken = {"gradient": gradient} | _row_squares(tf, outputs, changed=bool(microbatch or corrections))
        moved = apply({**carry, **rates, **taken})
        return {
            "trainable": moved["new_trainable"],
            "state": outputs.get("new_state", carry["state"]),
            "slots": moved.get("new_slots", carry["slots"]),
            "totals": carry["totals"] + totals(tf, outputs, batch["sample_weight"]),
        }

    return step


def random_inputs(tf: Any, manifest: Manifest, key: Tensor) -> dict[str, Tensor]:
    """Returns the random inputs of a step by name; `key` is that of `step_of`."""
    return {
        spec.name: tf.random.stateless_uniform(
            spec.shape, seed=tf.stack([key[0], key[1] + (stream << 32)]), alg="philox"
        )
        for stream, spec in enumerate(manifest.random)
    }


def _row_squares(tf: Any, outputs: Mapping[str, Tensor], changed: bool) -> dict[str, Tensor]:
    """Returns the squares of tables for `apply`; for a modified gradient those of its own values."""
    squares = outputs.get("row_squares")
    if squares is None:
        return {}
    return {"row_squares": tf.fill(tf.shape(squares), OWN_SQUARES) if changed else squares}


def corrected(gradient: Tensor, trainable: Tensor, corrections: Mapping[str, Tensor]) -> Tensor:
    """Returns the gradient [T] plus the plan's corrections.

    `start` [T] and `mu` []: mu * (trainable - start), FedProx (Li et al. 2020, alg. 2). `drift` [T]: c - c_i,
    SCAFFOLD (Karimireddy et al. 2020, alg. 1).
    """
    if "start" in corrections:
        gradient = gradient + corrections["mu"] * (trainable - corrections["start"])
    if "drift" in corrections:
        gradient = gradient + corrections["drift"]
    return gradient


def totals(tf: Any, outputs: Mapping[str, Tensor], sample_weight: Tensor) -> Tensor:
    """Returns [examples, examples * loss, each metric's numerator and denominator] of a batch, float64."""
    count = tf.reduce_sum(tf.cast(sample_weight > 0.0, tf.float64))
    parts = [tf.stack([count, count * tf.cast(outputs["loss"], tf.float64)])]
    if "metrics" in outputs:
        parts.append(tf.reshape(tf.cast(outputs["metrics"], tf.float64), [-1]))
    return tf.concat(parts, axis=0)


def totals_size(metrics: Sequence[MetricSpec]) -> int:
    """Returns the length of `totals`."""
    return 2 + 2 * sum(spec.rows for spec in metrics)


def read_totals(summed: Totals) -> tuple[int, float, Sums]:
    """Returns examples, mean loss and the metrics' [numerator, denominator] of summed `totals`."""
    count, loss, *sums = summed.tolist()
    return round(count), loss / max(count, 1.0), list(zip(sums[::2], sums[1::2], strict=True))


def never(done: int, step_seconds: float) -> bool:
    """A Halt that never ends the work."""
    del done, step_seconds
    return False
