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
# Nodes and constants.
Graph = tuple[list[Node], list[dict[str, Any]]]


def node(name: str, op: str, *inputs: str, **attributes: Any) -> Node:
    return {"name": name, "op": op, "input": list(inputs), "attr": attributes}


X = node("x", "Placeholder", dtype=FLOAT, shape={"shape": {"dim": [{"size": "4"}]}})


SIDE = 40_000


def constant(name: str, *values: int) -> dict[str, Any]:
    """A vector of int32."""
    data = base64.b64encode(b"".join(value.to_bytes(4, "little") for value in values)).decode()
    return {"name": name, "dtype": "int32", "shape": [len(values)], "data": data}


def fill(name: str, *shape: int) -> Graph:
    """Zeros of the shape."""
    dims, value = f"{name}/dims", f"{name}/value"
    nodes = [node(dims, "Const", dtype=INTEGER), node(value, "Const", dtype=FLOAT)]
    nodes += [node(name, "Fill", dims, value, T=FLOAT)]
    return nodes, [constant(dims, *shape), {**constant(value, 0), "dtype": "float32", "shape": []}]


def filled() -> Graph:
    """A tensor of 6 GiB, filled with a value."""
    return fill("result", SIDE, SIDE)


def tiled() -> Graph:
    """A row, as often as it has columns."""
    nodes, constants = fill("row", 1, SIDE)
    nodes += [node("often", "Const", dtype=INTEGER), node("result", "Tile", "row", "often", T=FLOAT)]
    return nodes, [*constants, constant("often", SIDE, 1)]


def broadcast() -> Graph:
    """A row and a column, added."""
    row, column = fill("row", 1, SIDE), fill("column", SIDE, 1)
    nodes = [*row[0], *column[0], node("result", "AddV2", "row", "column", T=FLOAT)]
    return nodes, row[1] + column[1]


def many() -> Graph:
    """Eight tensors of 800 MB that live until they are added up."""
    parts = [fill(f"part{n}", SIDE, SIDE // 8) for n in range(8)]
    nodes = [one for part in parts for one in part[0]]
    nodes += [node("result", "AddN", *(f"part{n}" for n in range(8)), T=FLOAT, N={"i": "8"})]
    return nodes, [one for part in parts for one in part[1]]


HUNGRY: dict[str, Callable[[], Graph]] = {one.__name__: one for one in (filled, tiled, broadcast, many)}


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
    "has a cycle": (
        [X, node("result", "AddV2", "x", "other"), node("other", "Neg", "result:0")],
        "waits for its own result",
    ),
    "reads what is not there": ([X, node("result", "AddV2", "x", "y")], "reads y, which does not exist"),
    "names two nodes alike": ([X, X, node("result", "Neg", "x")], "two of its nodes have one name"),
    "hides a constant": ([X, node("c", "Const"), node("result", "AddV2", "x", "c")], "has no value"),
}


def answer(
    tab: Tab, nodes: list[Node], constants: list[dict[str, Any]], backend: str = "wasm", **more: Any
) -> Any:
    """What the harness says to a graph with the input x and the output result."""
    feed = {"dtype": "float32", "shape": [4], "data": "AAAAAAAAAAAAAAAAAAAAAA=="}
    inputs = {"x": feed} if X in nodes else {}
    case = {
        "topology": {"node": nodes, "versions": {"producer": 1}, **more},
        "constants": constants,
        "inputs": inputs,
        "outputs": ["result"],
    }
    work = {"cases": [case], "backend": backend, "wasm": None}
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


@pytest.mark.parametrize("backend", ["wasm", "webgl", "webgpu"])
@pytest.mark.parametrize("name", HUNGRY)
def test_a_graph_larger_than_memory_fails_with_a_sentence(
    bare_tab_for: Callable[[str], Tab], backend: str, name: str
) -> None:
    tab = bare_tab_for(backend)
    said = answer(tab, *HUNGRY[name](), backend=backend)
    assert said == "BackendFailure: This device does not have enough memory for a training step."
    small = answer(tab, *fill("result", 4), backend=backend)
    assert not isinstance(small, str), small
    assert small[0]["shape"] == [4]


def test_a_shape_that_fits_nothing_fails_with_a_sentence(tab: Tab) -> None:
    nodes = [X, node("shape", "Const", dtype=INTEGER), node("result", "Reshape", "x", "shape", T=FLOAT)]
    assert "Error" in answer(tab, nodes, [constant("shape", 7)])
