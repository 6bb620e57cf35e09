"""Summarizes the rounds and versions of a task for the API and the pages."""

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
    """Returns the newest `last` of the rounds after number `after` and before `before`, oldest first.

    Each has the version that it made, if any, as `made` (docs/reference/http.md).
    """
    rounds = await history.rounds(after, last, before)
    first = rounds[0].round if rounds else 0
    made = {version.round: version for version in history.versions if version.round >= first}
    evaluations, lineage = history.evaluations, lineage_of(history.versions)
    return [_round(record, made.get(record.round), evaluations, lineage) for record in rounds]


def version_summaries(
    versions: Sequence[VersionRecord], evaluations: Mapping[int, EvaluationRecord]
) -> list[dict[str, Any]]:
    """Returns summaries of all versions of a run, oldest first."""
    lineage = lineage_of(versions)
    return [version_summary(record, evaluations.get(record.version), lineage) for record in versions]


def public_round(record: RoundRecord) -> dict[str, Any]:
    """Returns what everybody may read of a round (docs/reference/http.md)."""
    facts = {**asdict(record), "opened": record.ended - record.seconds}
    # With few clients the percentiles nearly reveal the loss of each, and honest clients may be left out or
    # suspected: only the task's owner may see them.
    for private in ("losses", "left_out", "left_out_groups", "uncounted"):
        del facts[private]
    return facts


def version_summary(
    record: VersionRecord, evaluation: EvaluationRecord | None, lineage: Lineage
) -> dict[str, Any]:
    """Returns a version with its evaluation and its place in the `lineage` of all versions."""
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
        "left": record.version in lineage.rolled_back,
    }


def _round(
    record: RoundRecord,
    version: VersionRecord | None,
    evaluations: Mapping[int, EvaluationRecord],
    lineage: Lineage,
) -> dict[str, Any]:
    made = version and version_summary(version, evaluations.get(version.version), lineage)
    return {**public_round(record), "made": made}
