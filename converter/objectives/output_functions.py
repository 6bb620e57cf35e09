"""Losses that are functions of several outputs: one number for each example, from Keras outputs alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from converter.objectives.objective_tables import bad_objectives
from converter.padding.real_rows import Rows, reduce_rows
from converter.tracing.model_ports import Port

# The distance of two embeddings that are the same has no gradient; below this square it counts as the same.
LEAST_SQUARE = 1e-12
_SIMILARITY = Port("", (), "int32", 2)


def kl_divergence_to_normal(mean: Any, log_variance: Any) -> Any:
    """The divergence of N(mean, exp(log_variance)) from N(0, 1) (Kingma and Welling 2014, appendix B)."""
    return -0.5 * _sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance))


def triplet(anchor: Any, positive: Any, negative: Any, margin: float) -> Any:
    """How far the negative is too close to the anchor (Schroff et al. 2015, eq. 1)."""
    return tf.maximum(_square(anchor, positive) - _square(anchor, negative) + margin, 0.0)


def contrastive(first: Any, second: Any, differs: Any, margin: float) -> Any:
    """Pulls alike pairs together and pushes others `margin` apart (Hadsell et al. 2006, eq. 4).

    `differs` [B] is 0 for a pair that is alike, and 1 for one that is not.
    """
    square = tf.maximum(_square(first, second), LEAST_SQUARE)
    apart = tf.cast(differs, tf.float32)
    gap = tf.maximum(margin - tf.sqrt(square), 0.0)
    return 0.5 * ((1.0 - apart) * square + apart * tf.square(gap))


def mean_output(output: Any) -> Any:
    """The mean of an output: with weights 1 and -1 a critic's loss (Arjovsky et al. 2017, eq. 2)."""
    axes = list(range(1, len(output.shape)))
    return tf.reduce_mean(output, axes) if axes else output


@dataclass(frozen=True)
class _Kind:
    """What a function takes: so many outputs, perhaps a label, and settings with their defaults."""

    function: Callable[..., Any]
    outputs: tuple[str, ...]
    label: Port | None = None
    settings: Mapping[str, float] = field(default_factory=dict)


FUNCTIONS: dict[str, _Kind] = {
    "kl_divergence_to_normal": _Kind(kl_divergence_to_normal, ("mean", "log variance")),
    "triplet": _Kind(triplet, ("anchor", "positive", "negative"), settings={"margin": 0.2}),
    "contrastive": _Kind(contrastive, ("first", "second"), _SIMILARITY, {"margin": 1.0}),
    "mean_output": _Kind(mean_output, ("output",)),
}


@dataclass(frozen=True)
class OutputFunction:
    """One of FUNCTIONS with its settings; `label` is the port of its label, None without one."""

    name: str
    settings: Mapping[str, float]
    label: Port | None

    def of(self, label: Any, outputs: Sequence[Any], rows: Rows) -> Any:
        """Returns the scalar mean over the real rows, weighted by their sample weights.

        Raises Refusal where a mask tells positions of an output apart: the function sums over all.
        """
        if any(getattr(output, "_keras_mask", None) is not None for output in outputs):
            raise bad_objectives(
                f"give the loss {self.name} an output with a mask, of which it would count masked positions, "
                "too; end the mask by a layer that pools, or build the embedding without mask_zero"
            )
        arguments = [*outputs] if self.label is None else [*outputs, label]
        values = FUNCTIONS[self.name].function(*arguments, **self.settings)
        return reduce_rows(values, None, rows, "sum_over_batch_size")


def output_function(name: str, settings: Mapping[str, Any], outputs: Sequence[Port]) -> OutputFunction:
    """Builds the function `name` of these outputs. Raises Refusal where outputs or settings do not fit."""
    kind = FUNCTIONS[name]
    if len(outputs) != len(kind.outputs):
        raise bad_objectives(
            f"give the loss {name} {len(outputs)} outputs where it takes {len(kind.outputs)}: "
            f"{', '.join(kind.outputs)}"
        )
    if len({port.shape for port in outputs}) > 1:
        shapes = ", ".join(f"{port.name} {list(port.shape)}" for port in outputs)
        raise bad_objectives(f"give the loss {name} outputs of different shapes ({shapes})")
    for key, value in settings.items():
        if key not in kind.settings:
            allowed = ", ".join(kind.settings) or "none"
            raise bad_objectives(f"give the loss {name} the unknown setting `{key}`; it has {allowed}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e6:
            raise bad_objectives(f"give the loss {name} a `{key}` that is no number above 0")
    label = kind.label and replace(kind.label, name=name)
    return OutputFunction(name, dict(kind.settings) | dict(settings), label)


def _sum(values: Any) -> Any:
    """Returns the sum over all axes but the batch, [B]."""
    axes = list(range(1, len(values.shape)))
    return tf.reduce_sum(values, axes) if axes else values


def _square(first: Any, second: Any) -> Any:
    """Returns the squared distance of each row, [B]."""
    return _sum(tf.square(first - second))
