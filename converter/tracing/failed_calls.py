"""Says which layer could not be called, why, and what to write instead."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Any

import keras

from converter.refusal import Refusal

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_UNKNOWN_SHAPE = re.compile(r"infer the output shape / dtype of '([^']*)' \(of type (\w+)\)")
_NUMPY = "Its inputs have no values yet; write call() with keras.ops, without numpy"
_PYTHON = (
    "call() reads a tensor's value in Python (if, for, while, float(), int()), but it has none yet; use "
    "keras.ops.where or keras.ops.cond, and fixed numbers of steps"
)
# What Keras, TensorFlow and numpy say of these two mistakes.
_CAUSES = (
    (r"numpy|NumPy|__array__", _NUMPY),
    (r"as a Python `?bool|as a `?bool|[Ii]terating over|must be a string or a real number"
     r"|int\(\) argument|__float__|__int__|__index__|cannot be interpreted as an integer", _PYTHON),
)  # fmt: skip
_OTHER = "Replace that part, or repair its call()"


def keras_reason(error: BaseException, length: int = 300) -> str:
    """Returns the cause in an error of Keras, without colours and the arguments of the call."""
    text = _COLOURS.sub("", str(error))
    for before in ("Error encountered:", "Exception encountered: "):
        text = text.rpartition(before)[2]
    # Keras puts the arguments of a call after the cause.
    text = text.partition("Arguments received by")[0]
    return " ".join(text.split())[:length].rstrip(". ") or type(error).__name__


def failed_layer(error: BaseException) -> str | None:
    """Returns the layer or function of keras.ops that raised `error`, as the subject of a sentence."""
    if (told := _UNKNOWN_SHAPE.search(_COLOURS.sub("", str(error)))) is not None:
        return f"The layer {told[1]} ({told[2]})"
    found: Any = None
    step: TracebackType | None = error.__traceback__
    while step is not None:
        owner = step.tb_frame.f_locals.get("self")
        if isinstance(owner, keras.Operation) and not isinstance(owner, keras.Model):
            found = owner
        step = step.tb_next
    if found is None:
        return None
    word = "layer" if isinstance(found, keras.layers.Layer) else "function of keras.ops"
    return f"The {word} {found.name} ({type(found).__name__})"


def remedy_of(error: BaseException) -> str:
    """Returns what to write instead of what raised `error`."""
    text = _COLOURS.sub("", str(error))
    return next((remedy for pattern, remedy in _CAUSES if re.search(pattern, text)), _OTHER)


def cannot_trace(error: BaseException) -> Refusal:
    """Returns the Refusal for what a layer raised while it was traced."""
    place = failed_layer(error) or "The model"
    return Refusal(f"{place} cannot be traced: {keras_reason(error)}. {remedy_of(error)}.")
