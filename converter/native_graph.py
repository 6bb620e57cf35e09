"""Runs the native graphs of a bundle with TensorFlow, as functions of named arrays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def native_graph(bundle: Path, manifest: Mapping[str, Any], name: str) -> Any:
    """Loads a native graph as a function from named arrays to named arrays; it ignores other inputs."""
    import tensorflow as tf

    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString((bundle / "native" / f"{name}.pb").read_bytes())
    imported = tf.compat.v1.wrap_function(lambda: tf.graph_util.import_graph_def(definition, name=""), [])
    signature = manifest["signatures"][name]

    def tensors(specs: list[dict[str, Any]]) -> list[Any]:
        return [imported.graph.get_tensor_by_name(_tensor(spec["tensor"])) for spec in specs]

    pruned = imported.prune(tensors(signature["inputs"]), tensors(signature["outputs"]))

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        input_tensors = [tf.constant(feeds[spec["name"]], spec["dtype"]) for spec in signature["inputs"]]
        outputs = pruned(*input_tensors)
        names = [spec["name"] for spec in signature["outputs"]]
        return {key: value.numpy() for key, value in zip(names, outputs, strict=True)}

    return run


def _tensor(name: str) -> str:
    return name if ":" in name else f"{name}:0"
