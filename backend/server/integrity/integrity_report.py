"""Describes the checks of a task's versions, and the question to its owner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from backend.formats.task_file import TaskFile
from backend.server.versions.promotion import Promotion
from backend.server.versions.version_checks import VersionChecks
from backend.stores.contracts import IntegrityRecord

# The newest checks that a report has.
MAX_CHECKS = 20


def integrity_report(checks: VersionChecks, ended: bool) -> dict[str, Any] | None:
    """Returns the report for the owner (docs/reference/http.md); None where versions are not checked.

    `ended` says whether the task's last version is made.
    """
    promotion, plan = checks.promotion, checks.plan
    if promotion is None or plan is None:
        return None
    question = promotion.question
    newest = sorted(promotion.checks.values(), key=lambda check: check.version)[-MAX_CHECKS:]
    return {
        "offered": promotion.offered.version,
        "limit": plan.limit,
        "waiting": list(checks.waiting(ended)),
        "question": None if question is None else asdict(question),
        "checks": [asdict(check) for check in newest],
    }


def class_names(file: TaskFile) -> Sequence[str]:
    """Returns the names of a task's classes, as people who try the model see them; empty without any."""
    return file.trial.labels if file.trial else ()


def question_text(promotion: Promotion | None) -> str | None:
    """Returns the question to the owner as the text of an alert; None if there is none."""
    question = None if promotion is None else promotion.question
    if promotion is None or question is None:
        return None
    number, offered = question.version, promotion.offered.version
    what = (
        f"Version {number} shows signs of a backdoor: {_worst(question)['reason']}"
        if question.outcome == "failed"
        else f"Version {number} could not be checked for backdoors: {question.parts[0]['reason']}"
    )
    return (
        f"{what} Version {offered} stays the one that is offered. Accept version {number} on the dashboard, "
        f"or go back to version {offered}."
    )


def check_status(promotion: Promotion | None, number: int) -> str | None:
    """Returns `passed`, `accepted`, `failed`, `undecided`, `unmeasured` or `unchecked` for a version.

    None where versions are not checked; version 0, and one that restores it, is the owner's `own`.
    """
    if promotion is None:
        return None
    check = promotion.check_of(number)
    if check is None:
        return "own" if promotion.is_cleared(number) else "unchecked"
    return "accepted" if check.accepted is not None else check.outcome


def _worst(check: IntegrityRecord) -> dict[str, Any]:
    """Returns the part with the largest score."""
    return max(check.parts, key=lambda part: -1.0 if part["score"] is None else float(part["score"]))
