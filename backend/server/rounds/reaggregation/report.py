"""Reports a try of another rule beside what really happened (docs/reference/http.md)."""

from __future__ import annotations

from typing import Any

from backend.server.rounds.reaggregation.rule_try import RuleTry, TriedRound
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord
from backend.stores.updates.kept_updates import KeptUpdates


def report_of(kept: KeptUpdates, tried: RuleTry, history: VersionHistory, measures: bool) -> dict[str, Any]:
    """Returns what is kept, and the try; `measures` says whether its versions are measured."""
    return {
        "kept": {
            "rounds": [
                {"round": one.round, "version": one.version, "made": one.made, "updates": len(one.updates)}
                for one in kept.rounds
            ],
            "most_rounds": kept.most_rounds,
            "bytes": kept.total_bytes,
            "most_bytes": kept.most_bytes,
            "problem": kept.problem,
        },
        "state": tried.state,
        "reason": tried.reason,
        "rule": tried.words,
        "attackers": tried.attackers,
        "planned": tried.planned,
        "measured": measures,
        "rounds": [_row(one, history) for one in tried.rounds],
    }


def _row(tried: TriedRound, history: VersionHistory) -> dict[str, Any]:
    kept = tried.kept
    return {
        "round": kept.round,
        "version": kept.version,
        "made": kept.made,
        "updates": len(kept.updates),
        "real": {
            "rule": kept.rule,
            "left_out": kept.left_out,
            "evaluation": _evaluation(history.evaluated["server"].get(kept.made)),
        },
        "tried": {"left_out": list(tried.left_out), "evaluation": _evaluation(tried.evaluation)},
        "distance": tried.distance.distance,
        "relative": tried.distance.relative,
    }


def _evaluation(record: EvaluationRecord | None) -> dict[str, Any] | None:
    return None if record is None else {"loss": record.loss, "metrics": record.metrics}
