"""Graphs of a few hundred bytes that want gigabytes, run by a peer's code in a process with limited memory.

Usage: `MODULE NAME...`. Prints a line for each graph: its name and what the peer said, or "ran". A process
that ends in another way was ended, and has no line for that graph and the next ones.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from typing import Any

from backend.errors import BundleError
from backend.peer.training.graphs import check_bundle, import_graphs, import_tensorflow
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest

ADDRESS_SPACE = 7 << 30
SIDE = 40_000


def splat(tf: Any) -> Any:
    """A constant whose one value fills 6 GiB."""
    return tf.constant(0.0, shape=[1])


def filled(tf: Any) -> Any:
    """A tensor filled with a value."""
    return tf.raw_ops.Fill(dims=[SIDE, SIDE], value=0.0)


def tiled(tf: Any) -> Any:
    """A row, as often as it has columns."""
    return tf.raw_ops.Tile(input=tf.raw_ops.Fill(dims=[1, SIDE], value=0.0), multiples=[SIDE, 1])


def broadcast(tf: Any) -> Any:
    """A row and a column, added."""
    fill = tf.raw_ops.Fill
    return fill(dims=[1, SIDE], value=0.0) + fill(dims=[SIDE, 1], value=0.0)


def many(tf: Any) -> Any:
    """Eight tensors of 800 MB that live until they are added up."""
    parts = [tf.raw_ops.Fill(dims=[SIDE, SIDE // 8], value=float(n)) for n in range(8)]
    return tf.raw_ops.AddN(inputs=parts)


GRAPHS: dict[str, Callable[[Any], Any]] = {
    one.__name__: one for one in (splat, filled, tiled, broadcast, many)
}


def serialized(tf: Any, name: str) -> bytes:
    """Returns the graph, whose output is the sum of what it made."""
    graph = tf.Graph()
    with graph.as_default():
        made = GRAPHS.get(name, filled)(tf)
        total = tf.raw_ops.Sum(input=made, axis=list(range(len(made.shape))))
        if name == "folded":
            # The size of the next tensor is computed from the large one, while shapes are inferred.
            count = tf.raw_ops.Cast(x=total, DstT=tf.int32)
            dims = tf.raw_ops.Pack(values=[count, count])
    definition = graph.as_graph_def()
    if name == "folded":
        last = definition.node.add(name="last", op="Fill", input=[dims.op.name, made.op.inputs[1].op.name])
        last.attr["T"].type, last.attr["index_type"].type = 1, 3
    if name == "splat":
        for node in definition.node:
            if node.name == made.op.name:
                del node.attr["value"].tensor.tensor_shape.dim[:]
                for _ in range(2):
                    node.attr["value"].tensor.tensor_shape.dim.add(size=SIDE)
    return bytes(definition.SerializeToString())


def main() -> None:
    """Runs the graphs as a peer does, one after the other."""
    tf = import_tensorflow()
    graphs = {name: serialized(tf, name) for name in sys.argv[1:]}
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for name, graph in graphs.items():
        print(name, run(graph), flush=True)


def run(graph: bytes) -> str:
    """Returns what a peer says of a graph, or "ran"."""
    files = {f"native/{one}.pb": b"" for one in SIGNATURES} | {"weights.bin": bytes(4 * SIZE)}
    bundle = manifest(files | {f"{one}/model.json": b"" for one in SIGNATURES}, 0)
    bundle["signatures"]["predict"]["outputs"] = [
        {"name": "y", "tensor": "Sum", "shape": [1], "dtype": "float32"}
    ]
    try:
        graphs = import_graphs(check_bundle(json.dumps(bundle).encode(), {"predict": graph}), "cpu")
        graphs.run["predict"]({})
    except BundleError as error:
        return f"refused: {error}"
    return "ran"


if __name__ == "__main__":
    main()
