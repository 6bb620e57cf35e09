"""Reports to a task's owner what its rounds bear now, and which clients are suspect, with reasons."""

from __future__ import annotations

from typing import Any

from backend.formats.task_file import TaskFile
from backend.numerics.reputation.round_comparison import FEWEST, most_false
from backend.numerics.reputation.suspicion import LIMIT, SuspicionRules
from backend.protocols.rounds.reputation_book import JudgedRound, ReputationBook, Suspect

MOST_REPORTED = 100


def tolerance(file: TaskFile, updates: int, groups: int | None = None) -> dict[str, Any] | None:
    """Returns how many false updates a round of so many `updates` bears (docs/reference/http.md).

    Masked updates are compared by `groups`, of which so many are left; None: all that the task has. None for
    a task with neither a robust rule nor reputation.
    """
    robust, reputation = file.security.robust, file.security.reputation
    if robust is None and reputation is None:
        return None
    masked = 0
    if robust is not None and robust.groups is not None:
        masked = robust.groups if groups is None else groups
    bears = robust is not None and (masked or updates) >= robust.least
    return {
        "updates": updates,
        "groups": masked,
        "rule": robust.words if robust else "",
        "attackers": robust.attackers if robust and bears else 0,
        "repeated": most_false(updates) if reputation and updates >= FEWEST else 0,
    }


def suspect_rows(book: ReputationBook) -> list[dict[str, Any]]:
    """Returns the clients with suspicion, those in quarantine first (docs/reference/http.md)."""
    return [_row(suspect, book.rules) for suspect in book.suspects[:MOST_REPORTED]]


def _row(suspect: Suspect, rules: SuspicionRules) -> dict[str, Any]:
    suspicion = suspect.suspicion
    left = suspicion.served_at_least(rules) - suspicion.served if suspicion.quarantined else 0
    return {
        "client": suspect.client,
        # Owners need not know which account it is.
        "kept_for": suspect.subject.split(" ")[0] if " " in suspect.subject else "client",
        "share": min(1.0, suspicion.score / LIMIT),
        "quarantined": suspicion.quarantined,
        "quarantines": suspicion.quarantines,
        "left": max(0, left) or suspicion.probation,
        "counts": suspicion.counts,
        "reasons": suspect.reasons,
        "timeline": [_judged(judged) for judged in suspect.timeline],
    }


def _judged(judged: JudgedRound) -> dict[str, Any]:
    return {
        "round": judged.round,
        "share": round(judged.score / LIMIT, 4),
        "evidence": dict(judged.evidence),
        "counted": judged.counted,
    }
