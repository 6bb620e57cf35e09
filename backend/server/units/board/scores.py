"""Computes scores of each epoch's results, and encodes a result as JSON (docs/reference/http.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from statistics import fmean, pstdev
from typing import Any

from backend.stores.contracts import AssimilationRecord


def scores(rows: Iterable[AssimilationRecord]) -> list[dict[str, Any]]:
    """Returns the scores of each epoch: mean and spread of the evaluations after its results."""
    epochs: dict[int, list[AssimilationRecord]] = {}
    for row in rows:
        epochs.setdefault(row.epoch, []).append(row)
    return [_score(epoch, epochs[epoch]) for epoch in sorted(epochs)]


def _score(epoch: int, rows: Sequence[AssimilationRecord]) -> dict[str, Any]:
    measured = [row for row in rows if row.loss is not None]
    names = dict.fromkeys(name for row in measured for name in row.metrics)
    return {
        "epoch": epoch,
        "results": len(rows),
        "measured": len(measured),
        "clients": len({row.client for row in rows}),
        "examples": sum(row.examples for row in rows),
        "staleness": fmean(row.staleness for row in rows),
        "loss": _spread(row.loss for row in measured),
        "metrics": {
            name: _spread(row.metrics[name] for row in measured if name in row.metrics) for name in names
        },
    }


def _spread(values: Iterable[float | None]) -> dict[str, float] | None:
    """Returns mean, standard deviation, minimum and maximum of the finite values; None without any."""
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    if not numbers:
        return None
    return {
        "mean": fmean(numbers),
        "deviation": pstdev(numbers),
        "least": min(numbers),
        "most": max(numbers),
    }


def result_json(row: AssimilationRecord) -> dict[str, Any]:
    """Encodes an assimilated result; values that are not finite become None, since JSON has none."""
    loss = row.loss if row.loss is not None and math.isfinite(row.loss) else None
    finite = {name: value if math.isfinite(value) else None for name, value in row.metrics.items()}
    return {**asdict(row), "loss": loss, "metrics": finite}
