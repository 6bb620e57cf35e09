"""Selects the versions that are deleted to save space."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from backend.formats.task_file import Checkpoints
from backend.stores.contracts import EvaluationRecord, VersionRecord


def to_let_go(
    versions: Sequence[VersionRecord],
    evaluations: Mapping[int, EvaluationRecord],
    plan: Checkpoints,
    busy: Collection[int],
) -> list[int]:
    """Numbers of kept `versions`, oldest first, that `plan` keeps no longer and that are not `busy`.

    The best have the highest accuracy on held-out examples or, for models that measure none, the lowest loss.
    """
    kept = [one.version for one in versions if one.let_go is None]
    staying = {0, *busy, *kept[-plan.keep_last :]}
    measured = sorted((number for number in kept if number in evaluations), reverse=True)
    staying.update(sorted(measured, key=lambda number: _badness(evaluations[number]))[: plan.keep_best])
    if plan.keep_every:
        staying.update(number for number in kept if number % plan.keep_every == 0)
    return [number for number in kept if number not in staying]


def _badness(evaluation: EvaluationRecord) -> float:
    accuracy = evaluation.metrics.get("accuracy")
    return evaluation.loss if accuracy is None else -accuracy
