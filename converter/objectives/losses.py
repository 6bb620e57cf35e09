"""Builds Keras' losses by name and settings, each reduced to one number over the real rows."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import keras
import tensorflow as tf
from keras.src.losses import ALL_OBJECTS_DICT
from keras.src.losses.losses import LossFunctionWrapper
from keras.src.utils.naming import to_snake_case

from converter.objectives.cross_row_losses import circle_rows, overlap_of_rows
from converter.objectives.own_losses import OwnForm, call_own, check_own_loss, form_of, scalar_of_rows
from converter.objectives.plain_ops import plain_ops
from converter.padding.real_rows import Rows, reduce_rows, to_rank, with_columns
from converter.refusal import Refusal
from converter.tracing.failed_calls import keras_reason
from converter.tracing.model_ports import Port

# Losses with class numbers as labels, which have one axis fewer than the outputs.
SPARSE = ("sparse_categorical_crossentropy", "categorical_generalized_cross_entropy")
# Losses of chances that sum to one over the classes: with a single one they are always 0.
_OF_CLASSES = (*SPARSE, "categorical_crossentropy", "categorical_focal_crossentropy")
REDUCTIONS = ("sum_over_batch_size", "mean", "sum", "mean_with_sample_weight")


def pinball(y: Any, output: Any, quantile: float) -> Any:
    """The pinball loss, which a `quantile` minimises (Koenker and Bassett 1978), mean over the last axis."""
    error = y - output
    return tf.reduce_mean(tf.maximum(quantile * error, (quantile - 1.0) * error), -1)


class Quantile(LossFunctionWrapper):  # type: ignore[misc]
    """Wraps `pinball` as a loss that a task file can name."""

    def __init__(self, quantile: float = 0.5, reduction: str = "sum_over_batch_size") -> None:
        if isinstance(quantile, bool) or not 0.0 < quantile < 1.0:
            raise ValueError("`quantile` must lie between 0 and 1")
        super().__init__(pinball, reduction, "quantile", quantile=float(quantile))


def _named_losses() -> dict[str, type]:
    """Returns the loss classes by every name that Keras accepts: class, snake case, short form."""
    base = (keras.losses.Loss, keras.losses.CTC)
    classes = [c for c in vars(keras.losses).values() if inspect.isclass(c) and c not in base]
    named = {to_snake_case(c.__name__): c for c in classes} | {c.__name__: c for c in classes}
    for alias, loss in ALL_OBJECTS_DICT.items():
        if getattr(loss, "__name__", None) in named:
            named[alias] = named[loss.__name__]
    return named | {"quantile": Quantile}


LOSSES = _named_losses()


@dataclass(frozen=True)
class OutputLoss:
    """A Keras loss with its settings; `name` is the loss's name in task files.

    `form` is known where the loss is the owner's code and its output is given (`fitted`).
    """

    name: str
    loss: Any
    form: OwnForm | None = None

    @property
    def sparse(self) -> bool:
        """Returns whether the labels are class numbers."""
        return self._kind in SPARSE

    @property
    def _kind(self) -> str:
        """Returns the name of Keras' own loss; the owner's code may bear any name."""
        return "" if self.own else self.name

    @property
    def own(self) -> bool:
        """Returns whether it is the owner's code, whose treatment of rows is unknown."""
        return not is_from_keras(getattr(self.loss, "fn", self.loss)) and not isinstance(self.loss, Quantile)

    @property
    def mean_over_rows(self) -> bool:
        """Returns whether the loss is a plain mean of one number per row."""
        mixing = (
            self._kind in ("dice", "tversky", "circle")
            or getattr(self.loss, "ignore_class", None) is not None
            or (self.form is not None and self.form.scalar)
        )
        return self.loss.reduction in ("sum_over_batch_size", "mean") and not mixing

    def fitted(self, output: Port) -> OutputLoss:
        """Returns the loss for an output: the owner's code is called once to see what it takes and gives.

        Raises Refusal.
        """
        return replace(self, form=form_of(self.name, self.loss, output)) if self.own else self

    def label(self, output: Port) -> Port:
        """Returns the label port for an output.

        Raises Refusal if the output has too few axes for the loss.
        """
        if self.form is not None:
            return self.form.label
        last_axis = getattr(self.loss, "_fn_kwargs", {}).get("axis", -1) in (-1, len(output.shape))
        if self._kind in _OF_CLASSES and last_axis and output.shape[-1:] in ((), (1,)):
            raise _bad(
                f"The loss {self.name} needs a number for each class, but {output.name} of shape "
                f"{list(output.shape)} has a single one; end the model with a unit for each class, or take "
                "binary_crossentropy."
            )
        if self._kind == "circle":
            return Port(output.name, (), "int32")
        if not self.sparse:
            return Port(output.name, output.shape, "float32")
        classes: int | None = output.shape[-1]
        ignored = getattr(self.loss, "ignore_class", None)
        if ignored is not None and not 0 <= ignored < output.shape[-1]:
            # Labels outside the classes are intended, so they must not be checked.
            classes = None
        return Port(output.name, output.shape[:-1], "int32", classes)

    def of(self, y: Any, output: Any, rows: Rows) -> Any:
        """Returns the scalar loss, as Keras defines it, of the real rows."""
        if len(output.shape) == 1 and self.form is None:
            return self._of_numbers(y, output, rows)
        y, output = with_columns(y, output)
        if self._kind == "circle":
            return circle_rows(self.loss, y, output, rows)
        if self._kind in ("dice", "tversky") and _mixes_rows(self.loss.axis, len(output.shape)):
            return overlap_of_rows(self.loss, y, output, rows)
        mask = getattr(output, "_keras_mask", None)
        if self.form is not None:
            values = call_own(self.loss, y, output, rows)
        else:
            values = self._values(self._labels(y, rows), output)
        own_mask = getattr(values, "_keras_mask", None)
        if own_mask is not None:
            mask = own_mask if mask is None else tf.logical_and(mask, own_mask)
        if mask is not None and len(mask.shape) > len(values.shape):
            raise _bad(
                f"The loss {self.name} gives one number for positions that a mask tells apart; use a loss of "
                "positions, or a layer that ends the mask."
            )
        if self.form is not None and self.form.scalar:
            return scalar_of_rows(values, rows, self.loss.reduction)
        return reduce_rows(values, mask, rows, self.loss.reduction)

    def _values(self, y: Any, output: Any) -> Any:
        try:
            with plain_ops():
                return self.loss.call(y, output)
        except (TypeError, ValueError) as error:
            raise _bad(
                f"The loss {self.name} cannot be computed of an output of {output.dtype.name} "
                f"{output.shape.as_list()[1:]}: {keras_reason(error)}. Give the output another form, or take "
                "another loss."
            ) from error

    def _of_numbers(self, y: Any, output: Any, rows: Rows) -> Any:
        """Returns the loss of an output with one number an example, shape [B].

        Keras averages over the last axis, which is the batch, and then weighs the mean.
        """
        if self.loss.reduction == "sum":
            raise _bad(
                f"The loss {self.name} is summed over the batch, but Keras averages an output without axes; "
                "end the model with Reshape((1,)), or reduce by sum_over_batch_size."
            )
        plain = Rows(rows.exists, rows.exists)
        return scalar_of_rows(self.of(*with_columns(y, output), plain), rows, self.loss.reduction)

    def _labels(self, y: Any, rows: Rows) -> Any:
        # Keras decides from the whole batch whether hinge labels are 0 and 1 or -1 and 1.
        return y * to_rank(rows.exists, len(y.shape)) if self._kind in ("hinge", "squared_hinge") else y


def named_loss(name: str, settings: dict[str, Any]) -> OutputLoss:
    """Builds the loss that a task file names. Raises Refusal that names the wrong word."""
    if name in ("crossentropy", "ce"):
        raise _bad(
            "The loss crossentropy does not say which labels the shards hold; write binary_crossentropy, "
            "categorical_crossentropy or sparse_categorical_crossentropy."
        )
    if name in ("ctc", "CTC"):
        return _checked("ctc", None)
    if name not in LOSSES:
        names = sorted(n for n in LOSSES if (n.islower() and "_" in n) or (n == n.lower() and len(n) > 4))
        raise _bad(f"The loss {name} is not supported; choose one of {', '.join(names)}.")
    kind = LOSSES[name]
    allowed = [p for p in inspect.signature(kind).parameters if p not in ("name", "dtype")]
    for key in settings:
        if key not in allowed:
            raise _bad(f"The loss {name} has no setting `{key}`; it has {', '.join(allowed)}.")
    try:
        loss = kind(**settings)
    except (TypeError, ValueError) as error:
        raise _bad(
            f"The loss {name} cannot have these settings: {' '.join(str(error).split())[:200]}."
        ) from error
    return _checked(to_snake_case(kind.__name__), loss)


def compiled_loss(loss: Any) -> OutputLoss:
    """Converts a loss as `model.compile` takes it: a name, a function, a Loss. Raises Refusal.

    A loss that is not Keras' own comes from the owner's file (converter/readers/custom_layers.py).
    """
    if isinstance(loss, str):
        return named_loss(loss, {})
    if type(loss) is LossFunctionWrapper:
        if getattr(loss.fn, "__name__", "") in LOSSES and is_from_keras(loss.fn):
            return named_loss(loss.fn.__name__, dict(loss._fn_kwargs, reduction=loss.reduction))
        return _checked(getattr(loss.fn, "__name__", loss.name), loss)
    if not isinstance(loss, keras.losses.Loss):
        return compiled_loss(LossFunctionWrapper(loss, name=getattr(loss, "__name__", None)))
    name = to_snake_case(type(loss).__name__)
    if not is_from_keras(loss):
        check_own_loss(loss)
        return OutputLoss(name, _with_reduction(name, loss))
    if name == "huber" and "delta" not in loss.get_config():
        raise _bad(
            "Keras does not save the delta of a compiled Huber loss; "
            'write loss = { name = "huber", delta = 1.0 } under [model] in the task file.'
        )
    return _checked(name, loss)


def is_from_keras(thing: Any) -> bool:
    """Returns whether a class, a function or an object's class comes from Keras itself."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return str(module).partition(".")[0] == "keras"


def _checked(name: str, loss: Any) -> OutputLoss:
    if name == "ctc":
        raise _bad(
            "The loss ctc is computed in a loop, which no browser can differentiate; use another loss."
        )
    _with_reduction(name, loss)
    if name not in ("dice", "tversky") and getattr(loss, "_fn_kwargs", {}).get("axis") == 0:
        raise _bad(
            f"The loss {name} works across the examples of a batch (axis 0), which padding would change; "
            "use another axis."
        )
    return OutputLoss(name, loss)


def _with_reduction(name: str, loss: Any) -> Any:
    if loss.reduction not in REDUCTIONS:
        raise _bad(
            f"The loss {name} is not reduced to one number; use the reduction {', '.join(REDUCTIONS)}."
        )
    return loss


def _mixes_rows(axis: Any, rank: int) -> bool:
    if axis is None:
        return True
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    return any(a % rank == 0 for a in axes)


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
