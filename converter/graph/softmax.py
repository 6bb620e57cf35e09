"""Skips softmax before ArgMax: the most probable class is the one with the largest logit."""

from __future__ import annotations

from converter.graph.graph_view import View

_MONOTONE = ("Softmax", "LogSoftmax")


def skip_softmax(view: View) -> None:
    """Lets ArgMax of a softmax over the same, last axis read the logits; metrics need no softmax."""
    for node in view.all("ArgMax"):
        axis, source = view.value(node.input[1]), view.maker(node.input[0])
        rank = len(view.shape(node.input[0]))
        if source.op in _MONOTONE and axis is not None and int(axis) % rank == rank - 1:
            view.rewire(node, 0, str(source.input[0]))
