"""Reads op names from a serialized TensorFlow GraphDef, without TensorFlow.

It reads `GraphDef.node` (field 1), `NodeDef.op` (field 2 of a node) and `GraphDef.library` (field 2), and
skips all other fields. Every length is checked against the available bytes (wire format: protobuf.dev,
"Encoding"). Tags have 32 bits at most: a reader that cuts a longer one would take another field for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.errors import BundleError

MAX_NODES = 200_000

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_FIELD, _MAX_TAG_BYTES = (1 << 29) - 1, 5
_GRAPH_NODE, _GRAPH_LIBRARY, _NODE_OP = 1, 2, 2


def op_names(graph: bytes) -> frozenset[str]:
    """Returns the names of all ops in `graph`, a serialized GraphDef.

    Raises BundleError when the bytes are no GraphDef, have more than MAX_NODES nodes, or contain a function
    library (an op could hide in a function's body, and frozen graphs need none).
    """
    view = memoryview(graph)
    names: set[str] = set()
    nodes = 0
    for field, value in _fields(view):
        if field == _GRAPH_LIBRARY and value is not None and len(value):
            raise BundleError("The graph brings a function library; freeze and inline it before bundling.")
        if field == _GRAPH_NODE:
            if value is None:
                raise _damaged()
            nodes += 1
            if nodes > MAX_NODES:
                raise BundleError(f"The graph has more than {MAX_NODES} nodes; make the model smaller.")
            names.add(_op_of(value))
    if not nodes:
        raise BundleError("The graph has no nodes; convert the model again.")
    return frozenset(names)


def _op_of(node: memoryview) -> str:
    op: memoryview | None = None
    for field, value in _fields(node):
        if field == _NODE_OP:
            op = value
    if op is None:
        raise _damaged()
    try:
        return bytes(op).decode("ascii")
    except UnicodeDecodeError as error:
        raise _damaged() from error


def _fields(view: memoryview) -> Iterator[tuple[int, memoryview | None]]:
    """Yields the field numbers of one message with their bytes (None for numbers)."""
    at = 0
    while at < len(view):
        start = at
        key, at = _varint(view, at)
        field, kind = key >> 3, key & 7
        if field > _MAX_FIELD or at - start > _MAX_TAG_BYTES:
            raise _damaged()
        value: memoryview | None = None
        if kind == _VARINT:
            _, at = _varint(view, at)
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        elif kind == _BYTES:
            length, at = _varint(view, at)
            value, at = view[at : at + length], at + length
        else:
            raise _damaged()
        if field == 0 or at > len(view):
            raise _damaged()
        yield field, value


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    """Returns the number at offset `at`, and the offset after it."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(view):
            raise _damaged()
        byte = view[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise _damaged()


def _damaged() -> BundleError:
    return BundleError("The native graph is not a serialized GraphDef; convert the model again.")
