"""Runs the frozen graphs of a bundle and names their results as Keras does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from converter.optimizers.gradient import ReadSum
from converter.tracing.tracer import Traced

Arrays = Mapping[str, NDArray[Any]]


class BundleRun:
    """The graphs of a bundle, each loaded once."""

    def __init__(self, graphs: Mapping[str, Any], traces: Mapping[str, Traced]) -> None:
        self._graphs, self._traces = graphs, traces
        self._sessions: dict[str, Any] = {}

    def run(self, name: str, feeds: Arrays) -> dict[str, NDArray[Any]]:
        """Returns the outputs of a graph by name; it ignores feeds that it has no input for."""
        traced = self._traces[name]
        fed = {f"{tensor.op.name}:0": feeds[tensor.op.name] for tensor in traced.inputs}
        names = [tensor.op.name for tensor in traced.outputs]
        values = self._session(name).run([f"{output}:0" for output in names], fed)
        return dict(zip(names, values, strict=True))

    def inputs(self, name: str) -> tuple[Any, ...]:
        """Returns the input placeholders of a graph."""
        return self._traces[name].inputs

    @property
    def reads(self) -> Mapping[int, ReadSum]:
        """Returns the variables whose `row_squares` the bundle gives, and how it makes them."""
        return self._traces["train"].reads

    def close(self) -> None:
        """Frees the graphs."""
        for session in self._sessions.values():
            session.close()

    def _session(self, name: str) -> Any:
        if name not in self._sessions:
            graph = tf.Graph()
            with graph.as_default():
                tf.import_graph_def(self._graphs[name], name="")
            config = tf.compat.v1.ConfigProto()
            # The graphs are optimized already, and what is compared is what browsers get.
            config.graph_options.rewrite_options.disable_meta_optimizer = True
            self._sessions[name] = tf.compat.v1.Session(graph=graph, config=config)
        return self._sessions[name]


def metric_values(specs: list[dict[str, Any]], pairs: NDArray[Any] | None) -> dict[str, float]:
    """Returns the metrics of one run by name, from their rows [M, 2] (docs/reference/bundle.md)."""
    values, start = {}, 0
    for spec in specs:
        count = spec.get("rows", 1)
        rows = np.asarray(pairs, np.float64)[start : start + count]
        start += count
        values[spec["name"]] = _value(spec["kind"], rows)
    return values


def _value(kind: str, rows: NDArray[np.float64]) -> float:
    if kind == "sum":
        return float(rows[:, 0].sum())
    if kind == "auc":
        positives, negatives = rows[0]
        areas = ((low[1] - high[1]) * (low[0] + high[0]) for low, high in pairwise(rows))
        return float(sum(areas) / (2 * positives * negatives)) if positives and negatives else 0.0
    ratios = [above / below for above, below in rows if below]
    mean = float(np.mean(ratios)) if ratios else 0.0
    return math.sqrt(max(mean, 0.0)) if kind == "root" else mean
