"""Selects the best version, and the versions that are deleted to save space."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime

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
    retained = {0, *busy, *kept[-plan.keep_last :], *_ranked(kept, evaluations)[: plan.keep_best]}
    if plan.keep_every:
        retained.update(number for number in kept if number % plan.keep_every == 0)
    return [number for number in kept if number not in retained]


def best_version(
    versions: Sequence[VersionRecord], evaluations: Mapping[int, EvaluationRecord]
) -> int | None:
    """Returns the number of the best version whose files are kept; None if none was measured."""
    kept = [version.version for version in versions if version.let_go is None]
    return next(iter(_ranked(kept, evaluations)), None)


def removal(version: VersionRecord, plan: Checkpoints) -> str:
    """Says when and why the files of `version` were removed, in a sentence for programs and their people."""
    day = datetime.fromtimestamp(version.let_go or 0.0, UTC).date()
    best = f"the best {plan.keep_best} and " if plan.keep_best else ""
    return (
        f"The files of version {version.version} were removed on {day} to save space: {best}the last "
        f"{plan.keep_last} versions are kept."
    )


def _ranked(kept: Iterable[int], evaluations: Mapping[int, EvaluationRecord]) -> list[int]:
    """Returns the measured versions, the best first, and of equal ones the newest."""
    measured = sorted((number for number in kept if number in evaluations), reverse=True)
    return sorted(measured, key=lambda number: _badness(evaluations[number]))


def _badness(evaluation: EvaluationRecord) -> float:
    accuracy = evaluation.metrics.get("accuracy")
    return evaluation.loss if accuracy is None else -accuracy
