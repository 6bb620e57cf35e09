"""Computes the clipped gradient of a private step (DP-SGD; Abadi et al. 2016, algorithm 1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backend.formats.manifest import SignatureName
from backend.peer.training.graphs import Graphs, Tensor


@dataclass(frozen=True)
class ExampleClip:
    """The clipping of gradients, each of `microbatch` examples, to the L2 norm `clip`.

    The sum of a step's clipped gradients gets Gaussian noise of standard deviation `noise` times `clip` on
    each value.
    """

    clip: float
    noise: float
    microbatch: int = 1


@dataclass(frozen=True)
class MicrobatchRows:
    """The graph that a microbatch runs on, and the number of rows that it takes."""

    graph: SignatureName
    count: int


def rows_of(graphs: Graphs, microbatch: int) -> MicrobatchRows:
    """Chooses slices if whole microbatches fit into one, which have fewer unused rows; else whole batches."""
    part = graphs.manifest.slice
    if part is not None and "train_slice" in graphs.run and part.batch_size % microbatch == 0:
        return MicrobatchRows("train_slice", part.batch_size)
    return MicrobatchRows("train", graphs.manifest.batch_size)


def clipped_outputs(
    tf: Any, graphs: Graphs, microbatch: int, clip: Tensor, inputs: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Returns the outputs of `train`; `gradient` [T] is the sum of the microbatches' clipped gradients.

    Microbatches are consecutive rows of the batch; rows of weight 0 belong to none. `loss` is the mean over
    existing rows, as without clipping. There is no `new_state`, because a batch's statistics would leave
    unclipped, and `row_squares` are zeros for the same reason.
    """
    rows, manifest = rows_of(graphs, microbatch), graphs.manifest
    run, weights = graphs.run[rows.graph], inputs["sample_weight"]
    by_rows = [name for name, value in inputs.items() if _has_rows(name, value.shape, manifest.batch_size)]
    exists = weights > 0.0
    numbers = tf.range(manifest.batch_size) // microbatch
    used = tf.unique(tf.boolean_mask(numbers, exists)).y

    def body(i: Tensor, summed: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        number = used[i]
        inputs_of_example = {**inputs, "sample_weight": tf.where(numbers == number, weights, 0.0)}
        if rows.count < manifest.batch_size:
            start = number * microbatch // rows.count * rows.count
            for name in by_rows:
                inputs_of_example[name] = _cut(tf, inputs_of_example[name], start, rows.count)
        outputs = run(inputs_of_example)
        count = tf.reduce_sum(tf.cast(inputs_of_example["sample_weight"] > 0.0, tf.float32))
        grown = {
            "gradient": _clipped(tf, outputs["gradient"], clip),
            "loss": count * outputs["loss"],
            **({"metrics": outputs["metrics"]} if "metrics" in outputs else {}),
        }
        return i + 1, {name: summed[name] + value for name, value in grown.items()}

    specs = {spec.name: spec.shape for spec in manifest.signatures["train"].outputs}
    zeros = {name: tf.zeros(specs[name]) for name in ("gradient", "loss", "metrics") if name in specs}
    _, summed = tf.while_loop(lambda i, _: i < tf.size(used), body, (tf.constant(0), zeros))
    count = tf.maximum(tf.reduce_sum(tf.cast(exists, tf.float32)), 1.0)
    shaped = {"row_squares": tf.zeros(specs["row_squares"])} if "row_squares" in specs else {}
    return {**summed, **shaped, "loss": summed["loss"] / count}


def _clipped(tf: Any, gradient: Tensor, clip: Tensor) -> Tensor:
    return gradient * (clip / tf.maximum(tf.norm(gradient), clip))


def _has_rows(name: str, shape: Any, size: int) -> bool:
    """Whether an input has a row per example: examples do, and random inputs with the batch as first axis."""
    if name.startswith("random_"):
        return len(shape) > 0 and shape[0] == size
    return name.startswith(("x_", "y_")) or name == "sample_weight"


def _cut(tf: Any, value: Tensor, start: Tensor, count: int) -> Tensor:
    return tf.ensure_shape(value[start : start + count], [count, *value.shape[1:]])
