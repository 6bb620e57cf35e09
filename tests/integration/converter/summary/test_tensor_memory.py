"""What lives at the same time, counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from converter.summary.tensor_memory import Footprint, execution_order, footprint
from tests.integration.converter.conftest import tf

pytestmark = pytest.mark.tensorflow
# Bytes of the tensors below, of 100 values each.
ONE = 400


def traced(build: Callable[[Any], Any]) -> Any:
    """The graph of `build(x)` with x [100]; its output is called `out`."""
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(build(tf.compat.v1.placeholder(tf.float32, (100,), "x")), "out")
    return graph


def chain(x: Any) -> Any:
    for _ in range(5):
        x = tf.exp(x)
    return x


def held(x: Any) -> Any:
    # The first value waits for the last: it, and each link of the chain with the next.
    first = tf.exp(x)
    return first + chain(first)


def reshaped(x: Any) -> Any:
    # Two shapes of one memory: nothing is copied, and nothing freed while either is read.
    first = tf.exp(x)
    square = tf.reshape(first, [10, 10])
    return tf.reshape(tf.sin(square), [100]) + first


def shrinking(x: Any) -> Any:
    return tf.reduce_sum(tf.exp(x) * tf.constant([2.0] * 100))


def split(x: Any) -> Any:
    a, b, c, d = tf.split(x, 4)
    return tf.concat([a + b, c + d], 0)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (chain, Footprint(ONE, 0, 2 * ONE)),
        (held, Footprint(ONE, 0, 3 * ONE)),
        # The two shapes are constants, of two values and of one.
        (reshaped, Footprint(ONE, 12, 3 * ONE)),
        # So is the axis of the sum.
        (shrinking, Footprint(ONE, ONE + 4, 2 * ONE)),
        # All four parts and the first sum; the axes of both ends are constants.
        (split, Footprint(ONE, 8, ONE + ONE // 4)),
    ],
)
def test_the_most_that_lives_at_once(build: Callable[[Any], Any], expected: Footprint) -> None:
    assert footprint(traced(build), ["out"]) == expected


def test_outputs_are_never_freed() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, (100,), "x")
        kept = tf.exp(x, name="kept")
        tf.sin(tf.sin(tf.sin(kept)), name="out")
    assert footprint(graph, ["out"]).intermediates == 2 * ONE
    assert footprint(graph, ["kept", "out"]).intermediates == 3 * ONE


def test_every_op_comes_after_its_inputs() -> None:
    graph = traced(lambda x: split(reshaped(x)) * tf.reduce_sum(held(x)))
    done: set[str] = set()
    for op in execution_order(graph):
        assert {tensor.op.name for tensor in op.inputs} <= done
        done.add(op.name)
    assert done == {op.name for op in graph.get_operations()}
