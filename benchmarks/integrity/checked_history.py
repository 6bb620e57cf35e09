"""Judges the versions of one training as the gate of a server does, without a server."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from backend.formats.task_file import IntegrityTable
from backend.numerics.integrity.integrity_score import IntegrityPart, is_pushing, trend_part
from backend.numerics.integrity.update_trend import RoundMinority, round_minority, update_trend
from backend.numerics.integrity.verdict import IntegrityVerdict
from backend.numerics.vectors import Vector, Vector64
from backend.server.integrity.version_verdict import judge_version
from backend.server.sandbox.integrity import IntegrityMeasurement


class CheckedHistory:
    """What a server knows of a training: its rounds' updates, and the version that it offers.

    `sketch` sketches an update, `measure` a version. After `checked`, `is_pushed` says whether a minority
    pushed since the offered version, and `strength` how much in the last rounds.
    """

    def __init__(
        self,
        plan: IntegrityTable,
        sketch: Callable[[Vector], Vector64],
        measure: Callable[[Vector], IntegrityMeasurement],
    ) -> None:
        self._plan, self._sketch, self._measure = plan, sketch, measure
        self._rounds: list[RoundMinority] = []
        self._offered: IntegrityMeasurement | None = None
        self._offered_at, self._brought_at = 0, -plan.every
        self._pushed_at: list[int] = []
        self.is_pushed, self.strength = False, 0.0

    def sent(self, updates: Sequence[Vector]) -> None:
        """Takes the updates of the round that follows."""
        found = round_minority(np.array([self._sketch(update) for update in updates]))
        if found is not None:
            self._rounds.append(found)

    def checked(self, version: int, weights: Vector, is_due: bool) -> IntegrityVerdict | None:
        """Returns the verdict on a version that is due or brought forward by its updates; None for others."""
        trend = update_trend(self._rounds)
        self.strength = trend.strength if trend else 0.0
        if trend is not None and is_pushing(trend):
            self._pushed_at.append(version)
            if version - self._brought_at >= self._plan.every:
                self._brought_at, is_due = version, True
        if not is_due:
            return None
        self.is_pushed = any(self._offered_at < at for at in self._pushed_at)
        measured = self._measure(weights)
        updates = trend_part(trend) if trend else IntegrityPart("updates", None, "Too few rounds.")
        has_passed, is_pushed = self._offered is not None, self.is_pushed
        verdict = judge_version(
            self._plan, measured, self._offered, updates, has_passed=has_passed, is_pushed=is_pushed
        )
        if verdict.outcome == "passed":
            self._offered, self._offered_at = measured, version
        return verdict
