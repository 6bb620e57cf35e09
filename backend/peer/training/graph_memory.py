"""Checks that this machine has the memory that a frozen graph needs, before TensorFlow runs it.

A graph of a few bytes can name tensors of any size. TensorFlow makes them when it runs the graph, some
already when it infers shapes, and the system ends the process. Therefore constants are checked first, then
the graph is imported in pieces that infer no shape from a tensor that was not checked. Every tensor must have
a size that is known before the first run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from backend.errors import BundleError

# The share of the machine's memory that a graph's tensors may take at once.
SHARE = 0.75
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_PLACEHOLDER, _CONSTANT = "Placeholder", "Const"
# A NodeDef of TensorFlow, which ships no types.
Node = Any


def memory_limit() -> int:
    """Returns the bytes that a graph's tensors may take: by the machine's memory, and the process' limits."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")] if hasattr(os, "sysconf") else []
    with suppress(OSError, ValueError):  # no limit, or a system without such groups
        limits.append(int(_CGROUP.read_text("ascii")))
    try:
        import resource
    except ImportError:
        return int(SHARE * min(limits, default=8 << 30))
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        limits.append(address_space)
    return int(SHARE * min(limits, default=8 << 30))


def check_memory(tf: Any, name: str, definition: Any, most_bytes: int) -> None:
    """Raises BundleError if the tensors of `definition`, a GraphDef, need over `most_bytes` at once.

    Also if the size of one is known only at run time.
    """
    for node in definition.node:
        for size in _constant_sizes(tf, node):
            _check_size(name, node.name, size, most_bytes)
    imported: dict[str, Any] = {}
    with tf.Graph().as_default():
        for piece in _pieces(name, list(definition.node)):
            own = {node.name for node in piece}
            given = {source for node in piece for source in node.input if _name(source) not in own}
            operations = tf.graph_util.import_graph_def(
                tf.compat.v1.GraphDef(versions=definition.versions, node=piece),
                name="",
                input_map={source: _tensor(imported, source) for source in given},
                return_elements=[node.name for node in piece],
            )
            for node, operation in zip(piece, operations, strict=True):
                imported[node.name] = operation
                for output in operation.outputs:
                    _check_size(name, node.name, _size(output), most_bytes)
    peak = _peak(list(imported.values()))
    if peak > most_bytes:
        raise _too_large(name, "its tensors", peak, most_bytes)


def _pieces(name: str, nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """Yields the nodes, each after its inputs, in pieces without a computed constant and its consumer.

    Such a constant is one that TensorFlow may compute while it imports the consumer, to infer a shape.
    """
    piece: list[Node] = []
    computed: set[str] = set()
    variable: set[str] = set()
    for node in _in_order(name, nodes):
        sources = {_name(source) for source in node.input}
        if sources & computed:
            yield piece
            piece, computed = [], set()
        piece.append(node)
        if node.op == _PLACEHOLDER or sources & variable:
            variable.add(node.name)
        elif node.op != _CONSTANT:
            computed.add(node.name)
    yield piece


def _in_order(name: str, nodes: Sequence[Node]) -> Iterator[Node]:
    """Yields nodes after their inputs. Raises BundleError for a circle, or an input that is missing."""
    by_name = {node.name: node for node in nodes}
    consumers: dict[str, list[str]] = {node.name: [] for node in nodes}
    missing = {}
    for node in nodes:
        sources = {_name(source) for source in node.input}
        if not sources <= by_name.keys():
            raise BundleError(f"The graph {name} lacks an input of '{node.name}'; convert the model again.")
        missing[node.name] = len(sources)
        for source in sources:
            consumers[source].append(node.name)
    ready = [node.name for node in reversed(nodes) if not missing[node.name]]
    count = 0
    while ready:
        count += 1
        yield by_name[done := ready.pop()]
        for consumer in consumers[done]:
            missing[consumer] -= 1
            if not missing[consumer]:
                ready.append(consumer)
    if count < len(nodes):
        raise BundleError(f"The graph {name} has a cycle; convert the model again.")


def _constant_sizes(tf: Any, node: Node) -> Iterator[int]:
    """Yields the bytes of the tensors within a node, which a single value may fill."""
    for value in node.attr.values():
        for tensor in (value.tensor, *value.list.tensor):
            dims = [dim.size for dim in tensor.tensor_shape.dim]
            if dims:
                yield math.prod(map(abs, dims)) * tf.dtypes.as_dtype(tensor.dtype or 1).size


def _peak(operations: Sequence[Any]) -> int:
    """Returns the bytes of all tensors that live at once, if each ends with its last consumer.

    TensorFlow runs independent branches at once: it is at least the sum of as many tensors as processors.
    """
    last = {tensor.name: at for at, one in enumerate(operations) for tensor in one.inputs}
    ending: list[int] = [0] * len(operations)
    live = peak = 0
    sizes = []
    for at, one in enumerate(operations):
        for output in one.outputs:
            size = _size(output) or 0
            sizes.append(size)
            live += size
            ending[last.get(output.name, len(operations) - 1)] += size
        peak = max(peak, live)
        live -= ending[at]
    return max(peak, sum(sorted(sizes)[-(os.cpu_count() or 1) :]))


def _size(output: Any) -> int | None:
    elements = output.shape.num_elements()
    return None if elements is None else int(elements) * int(output.dtype.size or 1)


def _check_size(name: str, node: str, size: int | None, most_bytes: int) -> None:
    if size is None:
        raise BundleError(
            f"The graph {name} has a tensor, '{node}', whose size is known only at run time; convert the "
            "model again."
        )
    if size > most_bytes:
        raise _too_large(name, f"its tensor '{node}'", size, most_bytes)


def _too_large(name: str, what: str, size: int, most_bytes: int) -> BundleError:
    return BundleError(
        f"The graph {name} needs {size / (1 << 30):.1f} GiB for {what}, and this machine gives it "
        f"{most_bytes / (1 << 30):.1f} GiB; make the model or its batch smaller."
    )


def _name(source: str) -> str:
    return source.removeprefix("^").partition(":")[0]


def _tensor(imported: Mapping[str, Any], source: str) -> Any:
    index = source.partition(":")[2]
    return imported[_name(source)].outputs[int(index or 0)]
