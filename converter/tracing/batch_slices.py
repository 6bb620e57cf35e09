"""Traces a second train graph for devices with little memory: the step in slices of the batch."""

from __future__ import annotations

from typing import Any

from converter.objectives.joint_objectives import JointObjectives
from converter.objectives.objective_selection import Objectives
from converter.refusal import Refusal
from converter.tracing.graph_freezer import freeze
from converter.tracing.tracer import Traced, Tracer

# Browsers on phones and consoles allow about 1 GiB, about half of it taken by other uses.
MAX_STEP_BYTES = 256 << 20

SIGNATURE = "train_slice"


def slice_size(batch_size: int, intermediates: int, requested: int | None) -> int | None:
    """Returns the rows of a slice, or None for whole batches only.

    It is the task file's value, or else the largest divisor of the batch whose share of the `intermediates`
    (bytes of a whole batch's step) is at most MAX_STEP_BYTES. Raises Refusal where the task file's value does
    not divide the batch.
    """
    if requested is not None:
        if batch_size % requested or requested >= batch_size:
            raise Refusal(
                f"[model] `slice` is {requested}, which does not divide the batch of {batch_size}; "
                f"choose a smaller divisor of {batch_size}.",
                "bad-task",
            )
        return requested
    if intermediates <= MAX_STEP_BYTES:
        return None
    smaller = [size for size in range(1, batch_size) if batch_size % size == 0]
    fitting = [size for size in smaller if intermediates * size <= MAX_STEP_BYTES * batch_size]
    return max(fitting or smaller[:1], default=None)


def is_sliceable(model: Any, objectives: Objectives | JointObjectives) -> bool:
    """Returns whether means over slices, weighted by their rows, give the mean over the batch."""
    masked = any(getattr(tensor, "_keras_mask", None) is not None for tensor in model.outputs)
    return not masked and objectives.mean_over_rows


def trace_slice(tracer: Tracer, whole: Traced, size: int) -> tuple[Traced, Any] | None:
    """Traces and freezes the train graph for `size` rows; None if its random inputs are not per row."""
    sliced = Tracer(
        tracer.model, tracer.layout, tracer.model_ports, tracer.objectives, tracer.optimizer, size
    ).train()
    if _random_shapes(sliced, size) != _random_shapes(whole, tracer.batch_size):
        return None
    return sliced, freeze(sliced)


def _random_shapes(traced: Traced, rows: int) -> list[list[int | str]]:
    """Returns the shapes of the random inputs, with the batch axis as "rows"."""
    shapes = [t.shape.as_list() for t in traced.inputs if t.op.name.startswith("random_")]
    return [["rows" if axis == 0 and n == rows else n for axis, n in enumerate(shape)] for shape in shapes]
