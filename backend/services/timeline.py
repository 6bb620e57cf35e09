"""How the rounds of a task went, and what they made, as the API and the pages tell it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from backend.services.ledger import Ledger
from backend.stores.contracts import EvaluationRecord, RoundRecord, VersionRecord


async def rounds_told(ledger: Ledger, after: int, last: int, before: int | None) -> list[dict[str, Any]]:
    """The newest `last` of the rounds after number `after` and before `before`, oldest first.

    Each with the version that it made, if it made one, as `made` (docs/reference/http.md).
    """
    rounds = await ledger.rounds(after, last, before)
    first = rounds[0].round if rounds else 0
    made = {one.round: one for one in ledger.versions if one.round >= first}
    evaluations = ledger.evaluations
    return [_round(one, made.get(one.round), evaluations) for one in rounds]


def version_told(record: VersionRecord, evaluation: EvaluationRecord | None) -> dict[str, Any]:
    """A version with what was measured of it."""
    return {
        "version": record.version,
        "round": record.round,
        "weights": record.weights,
        "accepted": record.accepted,
        "examples": record.examples,
        "loss": record.loss,
        "metrics": record.metrics,
        "evaluation": evaluation and {"loss": evaluation.loss, "metrics": evaluation.metrics},
        "seconds": record.seconds,
        "created": record.created,
        "let_go": record.let_go,
    }


def _round(
    record: RoundRecord, version: VersionRecord | None, evaluations: dict[int, EvaluationRecord]
) -> dict[str, Any]:
    made = version and version_told(version, evaluations.get(version.version))
    return {**asdict(record), "opened": record.ended - record.seconds, "made": made}
