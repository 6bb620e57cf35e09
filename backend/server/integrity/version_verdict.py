"""Judges a version by its measurement, beside that of the offered version and what its updates did."""

from __future__ import annotations

from collections.abc import Sequence

from backend.formats.task_file.integrity import IntegrityTable
from backend.numerics.integrity.integrity_score import IntegrityPart, IntegrityScore, combined_score
from backend.numerics.integrity.verdict import IntegrityVerdict, verdict_on
from backend.server.sandbox.integrity import IntegrityMeasurement, score_integrity, without_triggers


def judge_version(
    plan: IntegrityTable,
    measured: IntegrityMeasurement,
    offered: IntegrityMeasurement | None,
    updates: IntegrityPart,
    names: Sequence[str] = (),
    has_passed: bool = True,
    is_pushed: bool = False,
) -> IntegrityVerdict:
    """Judges a version by the parts of `plan`; `updates` is the part about its updates.

    `has_passed` says whether the `offered` version, if it is given, passed a check, `is_pushed` whether a
    minority of the updates since then pushes in a direction of its own. `names` are those of the classes.
    Raises BundleError for measurements that do not fit each other.
    """
    score = score_checked(measured, offered, updates, names, has_passed, is_pushed)
    parts = [part for part in score.parts if part.name in plan.parts]
    if has_passed:
        return verdict_on(parts, plan.limit)
    return verdict_on(parts, plan.limit, measured.norms, measured.counts, names)


def score_checked(
    measured: IntegrityMeasurement,
    offered: IntegrityMeasurement | None,
    updates: IntegrityPart | None,
    names: Sequence[str],
    has_passed: bool,
    is_pushed: bool,
) -> IntegrityScore:
    """Scores a version as its check does (see `judge_version`).

    The smallest triggers change in clean trainings, too. So they are compared with those of the offered
    version only if a minority pushes, which is no proof either: both together are a sign.
    """
    if offered is not None and not is_pushed:
        offered = without_triggers(offered)
    score = score_integrity(measured, offered, names=names, is_cleared=has_passed)
    return combined_score([*score.parts, updates]) if updates else score
