"""Writes ONNX models with tf2onnx and explains what tf2onnx cannot write."""

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
    """Writes `function`, a tf.function with an input signature, to `target` as ONNX.

    The graph's outputs get the names `outputs`. Raises Refusal where ONNX lacks an op that the model needs.
    """
    logging.getLogger("tf2onnx").setLevel(logging.CRITICAL)
    try:
        model, _ = tf2onnx.convert.from_function(
            function, input_signature=function.input_signature, opset=OPSET
        )
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:  # tf2onnx and its dependencies raise exceptions of many types.
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
    """Restores the model's own output names, which tracing lost."""
    used_names = {tensor.name for tensor in graph.input} | {
        name for node in graph.node for name in node.output
    }
    for output, name in zip(graph.output, outputs, strict=True):
        output_name = name if name not in used_names else f"{name}_output"
        for node in graph.node:
            node.output[:] = [output_name if tensor == output.name else tensor for tensor in node.output]
            node.input[:] = [output_name if tensor == output.name else tensor for tensor in node.input]
        output.name = output_name
