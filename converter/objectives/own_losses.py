"""Uses losses that the owner wrote: what they take, and their value over the real rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from converter.padding.batch_reductions import RowReductions, exact_reductions
from converter.padding.real_rows import Rows
from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes
from converter.tracing.model_ports import Port

# Two rows tell a value for each row from one for the batch.
_ROWS = 2


@dataclass(frozen=True)
class OwnForm:
    """What an own loss takes and gives: its labels, and whether it is one number for the whole batch."""

    label: Port
    scalar: bool


def check_own_loss(loss: Any) -> None:
    """Refuses a loss class that replaces more than `call`. Raises Refusal."""
    if type(loss).__call__ is not keras.losses.Loss.__call__:
        raise _bad(
            f"The loss {type(loss).__name__} has its own __call__, by which Keras weighs the examples; write "
            "the formula in call(self, y_true, y_pred) and return one number for each example."
        )


def form_of(name: str, loss: Any, output: Port) -> OwnForm:
    """Calls the loss with labels of the output's shape, then with class numbers; returns what works.

    Raises Refusal if neither does.
    """
    labels = [Port(output.name, output.shape, "float32")]
    if output.shape:
        labels.append(Port(output.name, output.shape[:-1], "int32", output.shape[-1]))
    faults = []
    for label in labels:
        try:
            rank = _rank(loss, label, output)
        except MemoryError:
            raise
        except Exception as error:  # the owner's code may raise anything
            faults.append(f"{type(error).__name__}: {' '.join(str(error).split())[:200].rstrip('.')}")
            continue
        if rank == 0 and loss.reduction == "sum":
            raise _bad(
                f"The loss {name} returns one number for the whole batch, which its reduction sum weighs by "
                "the batch's size; return one number for each example, or reduce by sum_over_batch_size."
            )
        return OwnForm(label, rank == 0)
    raise _bad(
        f"The loss {name} fits neither labels of the shape of {output.name} nor class numbers ({faults[0]}); "
        "write it with keras.ops for arrays [batch, ...]."
    )


def call_own(loss: Any, y: Any, output: Any, rows: Rows) -> Any:
    """Returns the loss's own values; its sums and means over the batch leave out padded rows."""
    with exact_reductions(rows, (y, output)), _exact_tensorflow(rows, (y, output)):
        return loss.call(y, output)


def scalar_of_rows(value: Any, rows: Rows, reduction: str) -> Any:
    """Weighs a loss of the whole batch as Keras does: by the mean weight of its real rows."""
    if reduction == "mean_with_sample_weight":
        return value
    return value * tf.math.divide_no_nan(tf.reduce_sum(rows.weight), rows.count)


def _rank(loss: Any, label: Port, output: Port) -> int:
    with tf.__internal__.FuncGraph("form").as_default():
        y = tf.compat.v1.placeholder(label.dtype, (_ROWS, *label.shape))
        prediction = tf.compat.v1.placeholder(output.dtype, (_ROWS, *output.shape))
        return len(tf.convert_to_tensor(loss.call(y, prediction)).shape)


@contextmanager
def _exact_tensorflow(rows: Rows, inputs: Sequence[Any]) -> Iterator[None]:
    """While open, `tf.reduce_sum` and `tf.reduce_mean` over the batch leave out padded rows."""
    reductions = RowReductions(rows, inputs, tf.reduce_sum, tf.reduce_mean)

    def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
        del name
        return reductions.sum(tf.convert_to_tensor(input_tensor), axis, keepdims)

    def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
        del name
        return reductions.mean(tf.convert_to_tensor(input_tensor), axis, keepdims)

    with ExitStack() as stack:
        for owner in (tf, tf.math):
            stack.enter_context(
                patched_attributes(owner, {"reduce_sum": reduce_sum, "reduce_mean": reduce_mean})
            )
        yield


def _bad(message: str) -> Refusal:
    return Refusal(message, "bad-task")
