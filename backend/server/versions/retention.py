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
    """Returns the numbers of versions that `plan` no longer keeps and that are not `busy`, oldest first.

    The best have the highest accuracy on held-out examples or, for models that measure none, the lowest loss.
    """
    kept = [version.version for version in versions if version.let_go is None]
    retained = {0, *busy, *kept[-plan.keep_last :]}
    measured = sorted((number for number in kept if number in evaluations), reverse=True)
    retained.update(sorted(measured, key=lambda number: _badness(evaluations[number]))[: plan.keep_best])
    if plan.keep_every:
        retained.update(number for number in kept if number % plan.keep_every == 0)
    return [number for number in kept if number not in retained]


def _badness(evaluation: EvaluationRecord) -> float:
    accuracy = evaluation.metrics.get("accuracy")
    return evaluation.loss if accuracy is None else -accuracy
