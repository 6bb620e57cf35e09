"""ONNX by tf2onnx, with sentences for what it cannot."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
import tf2onnx

from converter.refusal import Refusal

OPSET = 17


def write_onnx_model(function: Any, outputs: Sequence[str], target: Path) -> None:
    """Write `function`, a tf.function with an input signature, to `target`; its outputs get these names.

    Raises Refusal where ONNX has no op for one of the model's.
    """
    logging.getLogger("tf2onnx").setLevel(logging.CRITICAL)
    try:
        model, _ = tf2onnx.convert.from_function(
            function, input_signature=function.input_signature, opset=OPSET
        )
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # tf2onnx raises whatever its parts raise.
        raise Refusal(
            f"tf2onnx cannot write this model as ONNX ({_reason(error)}). Take a SavedModel or the .keras "
            "file."
        ) from error
    _rename(model.graph, outputs)
    onnx.save_model(model, str(target))


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    op = re.search(r"Tensorflow op \[[^:\]]*: *(\w+)\] is not supported", text)
    return f"it has no op for {op[1]}" if op else text[:200].rstrip(".")


def _rename(graph: Any, outputs: Sequence[str]) -> None:
    """Gives the graph's outputs the names of the model's own, which tracing lost."""
    taken = {one.name for one in graph.input} | {name for node in graph.node for name in node.output}
    for output, name in zip(graph.output, outputs, strict=True):
        wanted = name if name not in taken else f"{name}_output"
        for node in graph.node:
            node.output[:] = [wanted if one == output.name else one for one in node.output]
            node.input[:] = [wanted if one == output.name else one for one in node.input]
        output.name = wanted
