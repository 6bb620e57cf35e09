"""Writes the figures of a task's rounds and versions as CSV, JSON and TensorBoard events."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from backend.server.exports.tensorboard import Scalars, events
from backend.server.versions.lineage import Lineage, lineage_of
from backend.server.versions.timeline import public_round, version_summaries
from backend.stores.contracts import AssimilationRecord, EvaluationRecord, RoundRecord, VersionRecord

Evaluations = Mapping[int, EvaluationRecord]
Row = dict[str, Any]


def versions_csv(versions: Sequence[VersionRecord], evaluations: Evaluations) -> bytes:
    """Returns a line for each version: its updates, its training metrics and its evaluation.

    `training ...` are the clients' results on their own examples, `held-out ...` those on held-out examples.
    """
    lineage = lineage_of(versions)
    return _csv(_version_row(record, evaluations.get(record.version), lineage) for record in versions)


def rounds_csv(rounds: Sequence[RoundRecord]) -> bytes:
    """Returns a line for each round: its cohort, its outcome, and a column for each reason of refusal."""
    return _csv(_round_row(record) for record in rounds)


def assimilations_csv(results: Sequence[AssimilationRecord]) -> bytes:
    """Returns a line for each assimilated result of a work unit, with the evaluation after it."""
    return _csv(_assimilation_row(record) for record in results)


def figures_json(
    task: str, versions: Sequence[VersionRecord], evaluations: Evaluations, rounds: Sequence[RoundRecord]
) -> bytes:
    """Returns the JSON `{"task", "versions", "rounds"}` (docs/reference/http.md)."""
    content = {
        "task": task,
        "versions": version_summaries(versions, evaluations),
        "rounds": [public_round(record) for record in rounds],
    }
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def figures_events(
    versions: Sequence[VersionRecord], evaluations: Evaluations, rounds: Sequence[RoundRecord]
) -> bytes:
    """Returns a TensorBoard event file; a step is a version, or under `round/` a round."""
    scalars = [_version_scalars(record, evaluations.get(record.version)) for record in versions]
    scalars += [_round_scalars(record) for record in rounds]
    return events(sorted(scalars, key=lambda scalars: scalars.seconds))


def _version_row(record: VersionRecord, evaluation: EvaluationRecord | None, lineage: Lineage) -> Row:
    measured: Row = {}
    if evaluation is not None:
        measured = {"held-out loss": evaluation.loss, **_named("held-out", evaluation.metrics)}
        measured["measured by"] = evaluation.source
    return {
        "version": record.version,
        "round": record.round,
        "created": _moment(record.created),
        "seconds": record.seconds,
        "updates": record.accepted,
        "examples": record.examples,
        "training loss": record.loss,
        **_named("training", record.metrics),
        **measured,
        "weights": record.weights,
        "let go": None if record.let_go is None else _moment(record.let_go),
        "goes back to": lineage.restores.get(record.version),
        "left behind": "yes" if record.version in lineage.rolled_back else None,
    }


def _round_row(record: RoundRecord) -> Row:
    return {
        "round": record.round,
        "began with version": record.version,
        "opened": _moment(record.ended - record.seconds),
        "ended": _moment(record.ended),
        "seconds": record.seconds,
        "chosen": record.cohort,
        "accepted": record.accepted,
        "refused": record.refused,
        "outcome": record.outcome,
        "reason": record.reason,
        "rule": record.rule,
        **_named("accepted", record.accepted_by),
        **_named("refused", record.refusals),
    }


def _assimilation_row(record: AssimilationRecord) -> Row:
    return {
        "number": record.number,
        "epoch": record.epoch,
        "at": _moment(record.at),
        "unit": record.unit,
        "shard": record.shard,
        "first": record.first,
        "examples": record.examples,
        "first step": record.first_step,
        "visits": record.visits,
        "client": record.client,
        "kind": record.kind,
        "backend": record.backend,
        "base": record.base,
        "staleness": record.staleness,
        "seconds": record.seconds,
        "lost": record.lost,
        "held-out loss": record.loss,
        **_named("held-out", record.metrics),
    }


def _version_scalars(record: VersionRecord, evaluation: EvaluationRecord | None) -> Scalars:
    values = {f"training/{name}": value for name, value in record.metrics.items()}
    if record.loss is not None:
        values["training/loss"] = record.loss
    if evaluation is not None:
        values["held-out/loss"] = evaluation.loss
        values |= {f"held-out/{name}": value for name, value in evaluation.metrics.items()}
    values["version/updates"], values["version/examples"] = record.accepted, record.examples
    return Scalars(record.created, record.version, values)


def _round_scalars(record: RoundRecord) -> Scalars:
    values = {
        "round/chosen": record.cohort,
        "round/accepted": record.accepted,
        "round/refused": record.refused,
    }
    return Scalars(record.ended, record.round, {**values, "round/seconds": record.seconds})


def _named(prefix: str, values: Mapping[str, float]) -> Row:
    """Returns columns of named values. The prefix also prevents a spreadsheet from reading a formula."""
    return {f"{prefix} {name}": value for name, value in values.items()}


def _csv(rows: Iterable[Row]) -> bytes:
    """Returns the rows as CSV (RFC 4180), with the union of their columns as header."""
    lines = list(rows)
    columns = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().encode()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
