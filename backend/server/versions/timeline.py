"""How the rounds of a task went, and what they made, as the API and the pages tell it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from backend.server.versions.lineage import Lineage, lineage_of
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import EvaluationRecord, RoundRecord, VersionRecord


async def round_summaries(
    history: VersionHistory, after: int, last: int, before: int | None
) -> list[dict[str, Any]]:
    """The newest `last` of the rounds after number `after` and before `before`, oldest first.

    Each with the version that it made, if it made one, as `made` (docs/reference/http.md).
    """
    rounds = await history.rounds(after, last, before)
    first = rounds[0].round if rounds else 0
    made = {one.round: one for one in history.versions if one.round >= first}
    evaluations, lineage = history.evaluations, lineage_of(history.versions)
    return [_round(one, made.get(one.round), evaluations, lineage) for one in rounds]


def version_summaries(
    versions: Sequence[VersionRecord], evaluations: Mapping[int, EvaluationRecord]
) -> list[dict[str, Any]]:
    """All versions of a run, oldest first."""
    lineage = lineage_of(versions)
    return [version_summary(one, evaluations.get(one.version), lineage) for one in versions]


def version_summary(
    record: VersionRecord, evaluation: EvaluationRecord | None, lineage: Lineage
) -> dict[str, Any]:
    """A version with what was measured of it, and where it stands in the `lineage` of all."""
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
        "restores": lineage.restores.get(record.version),
        "left": record.version in lineage.left,
    }


def _round(
    record: RoundRecord,
    version: VersionRecord | None,
    evaluations: Mapping[int, EvaluationRecord],
    lineage: Lineage,
) -> dict[str, Any]:
    made = version and version_summary(version, evaluations.get(version.version), lineage)
    told = {**asdict(record), "opened": record.ended - record.seconds, "made": made}
    # Of few clients these are nearly their own losses: they are for the task's owner.
    del told["losses"]
    return told
