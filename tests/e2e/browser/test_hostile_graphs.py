"""Graphs that no converter writes are refused in the browser with a sentence, and leave nothing behind."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.browser.chromium import Tab

pytestmark = pytest.mark.browser

FLOAT, INTEGER = {"type": "DT_FLOAT"}, {"type": "DT_INT32"}
Node = dict[str, Any]


def node(name: str, op: str, *inputs: str, **attributes: Any) -> Node:
    return {"name": name, "op": op, "input": list(inputs), "attr": attributes}


X = node("x", "Placeholder", dtype=FLOAT, shape={"shape": {"dim": [{"size": "4"}]}})


def fill(elements: int) -> tuple[list[Node], list[dict[str, Any]]]:
    """A graph of one tensor with so many elements."""
    nodes = [node("dims", "Const", dtype=INTEGER), node("value", "Const", dtype=FLOAT)]
    nodes += [node("result", "Fill", "dims", "value", T=FLOAT)]
    size = {"name": "dims", "dtype": "int32", "shape": [1], "data": _bytes(elements)}
    value = {"name": "value", "dtype": "float32", "shape": [], "data": _bytes(0)}
    return nodes, [size, value]


def _bytes(number: int) -> str:
    return base64.b64encode(number.to_bytes(4, "little")).decode()


REFUSED: dict[str, tuple[list[Node], str]] = {
    "reads a file": ([X, node("name", "Placeholder"), node("result", "ReadFile", "name")], "the op ReadFile"),
    "writes a file": ([X, node("result", "WriteFile", "x", "x")], "the op WriteFile"),
    "calls Python": ([X, node("result", "PyFunc", "x")], "the op PyFunc"),
    "prints": ([X, node("result", "Print", "x")], "the op Print"),
    "draws for itself": ([X, node("result", "RandomUniform", "x")], "the op RandomUniform"),
    "loops": ([X, node("result", "While", "x")], "the op While"),
    "keeps state": ([X, node("result", "HashTableV2")], "the op HashTableV2"),
    "invents an op": ([X, node("result", "constructor", "x")], "the op constructor"),
    "waits for itself": ([X, node("result", "AddV2", "x", "result")], "waits for its own result"),
    "goes in a circle": (
        [X, node("result", "AddV2", "x", "other"), node("other", "Neg", "result:0")],
        "waits for its own result",
    ),
    "reads what is not there": ([X, node("result", "AddV2", "x", "y")], "reads y, which does not exist"),
    "names two nodes alike": ([X, X, node("result", "Neg", "x")], "two of its nodes have one name"),
    "hides a constant": ([X, node("c", "Const"), node("result", "AddV2", "x", "c")], "has no value"),
}


def answer(tab: Tab, nodes: list[Node], constants: list[dict[str, Any]], **more: Any) -> Any:
    """What the harness says to a graph with the input x and the output result."""
    feed = {"dtype": "float32", "shape": [4], "data": "AAAAAAAAAAAAAAAAAAAAAA=="}
    inputs = {"x": feed} if X in nodes else {}
    case = {
        "topology": {"node": nodes, "versions": {"producer": 1}, **more},
        "constants": constants,
        "inputs": inputs,
        "outputs": ["result"],
    }
    work = {"cases": [case], "backend": "wasm", "wasm": None}
    return tab.call("runOps", work)[0]


@pytest.fixture
def tab(bare_tab_for: Callable[[str], Tab]) -> Tab:
    return bare_tab_for("wasm")


@pytest.mark.parametrize("name", REFUSED)
def test_a_graph_is_refused_that(name: str, tab: Tab) -> None:
    nodes, reason = REFUSED[name]
    said = answer(tab, nodes, [])
    assert "refuses the task's graph" in said
    assert reason in said


def test_a_graph_with_functions_is_refused(tab: Tab) -> None:
    said = answer(tab, [X, node("result", "Neg", "x")], [], library={"function": [{}]})
    assert "calls functions" in said


def test_a_tensor_larger_than_memory_fails_with_a_sentence(tab: Tab) -> None:
    nodes, constants = fill(2**31 - 1)
    assert "Error" in answer(tab, nodes, constants)
    nodes, constants = fill(4)
    small = answer(tab, nodes, constants)
    assert not isinstance(small, str), small
    assert small[0]["shape"] == [4]


def test_a_shape_that_fits_nothing_fails_with_a_sentence(tab: Tab) -> None:
    nodes = [X, node("shape", "Const", dtype=INTEGER), node("result", "Reshape", "x", "shape", T=FLOAT)]
    seven = {"name": "shape", "dtype": "int32", "shape": [1], "data": _bytes(7)}
    assert "Error" in answer(tab, nodes, [seven])
