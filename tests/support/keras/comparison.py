"""Compares a bundle's numbers with Keras'; needs no TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np

from backend.numerics.metrics import METRICS


def relative_error(value: Any, expected: Any) -> float:
    """Returns the relative L2 error of arrays of equal shape; NaN, which no limit allows, if any is NaN."""
    wanted = np.asarray(expected, np.float64)
    difference = float(np.linalg.norm(np.asarray(value, np.float64) - wanted))
    return difference / max(float(np.linalg.norm(wanted)), 1e-30)


def metric_values(manifest: dict[str, Any], outputs: dict[str, Any]) -> dict[str, float]:
    """Returns the metrics of one run by name; {} where a bundle has none."""
    values, pairs = {}, np.asarray(outputs.get("metrics", np.zeros((0, 2))), np.float64)
    for spec in manifest["metrics"]:
        count = spec.get("rows", 1)
        values[spec["name"]] = METRICS[spec["kind"]](pairs[:count].tolist())
        pairs = pairs[count:]
    assert not len(pairs)
    return values


def metric_error(values: list[dict[str, float]], expected: list[dict[str, float]]) -> float:
    """Returns the worst relative L2 error of a metric over the same runs.

    It is NaN where the metrics' names differ.
    """
    if any(set(ours) != set(theirs) for ours, theirs in zip(values, expected, strict=True)):
        return float("nan")
    columns = ([[row[name] for row in rows] for rows in (values, expected)] for name in expected[0])
    return max((relative_error(ours, theirs) for ours, theirs in columns), default=0.0)
