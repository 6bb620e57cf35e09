from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import BundleError
from backend.wire import graphdef
from backend.wire.graphdef import op_names
from tests.support.tasks.tiny_task import graph_def


def test_the_names_of_all_ops_are_found() -> None:
    assert op_names(graph_def("MatMul", "AddV2", "MatMul")) == {"MatMul", "AddV2"}


def test_other_fields_of_every_kind_are_stepped_over() -> None:
    varint, fixed64, fixed32 = b"\x18\x96\x01", b"\x21" + bytes(8), b"\x25" + bytes(4)
    assert op_names(varint + fixed64 + graph_def("Neg") + fixed32) == {"Neg"}


def test_a_function_library_is_refused() -> None:
    with pytest.raises(BundleError, match="function library"):
        op_names(graph_def("Neg", library=b"\x0a\x00"))


def test_an_empty_library_is_none() -> None:
    assert op_names(graph_def("Neg") + b"\x12\x00") == {"Neg"}


@pytest.mark.parametrize(
    "graph",
    [
        b"",
        b"\x0a",
        b"\x0a\x7f",
        b"\x0a\x05\x12\x7fabc",
        b"\x0b",
        b"\x02\x00",
        b"\xff" * 20,
        b"\x08\x01",
        b"\x0a\x02\x0a\x00",
        b"\x0a\x04\x12\x02\xff\xfe",
        b"\x0a\x02\x10\x01",
        b"\x19" + bytes(3),
    ],
)
def test_what_is_no_graph_is_refused(graph: bytes) -> None:
    with pytest.raises(BundleError):
        op_names(graph)


def test_a_graph_of_too_many_nodes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphdef, "MAX_NODES", 2)
    with pytest.raises(BundleError, match="more than 2 nodes"):
        op_names(graph_def("Neg", "Neg", "Neg"))


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_bundle_errors(graph: bytes) -> None:
    try:
        op_names(graph)
    except BundleError:
        return
