"""The figures of a task's rounds and versions as tables, JSON and TensorBoard's events."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from backend.server.exports.tensorboard import Scalars, events
from backend.server.versions.lineage import Lineage, lineage_of
from backend.server.versions.timeline import version_summaries
from backend.stores.contracts import AssimilationRecord, EvaluationRecord, RoundRecord, VersionRecord

Evaluations = Mapping[int, EvaluationRecord]
Row = dict[str, Any]


def versions_csv(versions: Sequence[VersionRecord], evaluations: Evaluations) -> bytes:
    """A line for each version: what it was made of, how its training went, what was measured of it.

    `training ...` is what clients reported of their own examples, `held-out ...` is measured on others.
    """
    lineage = lineage_of(versions)
    return _csv(_version_row(one, evaluations.get(one.version), lineage) for one in versions)


def rounds_csv(rounds: Sequence[RoundRecord]) -> bytes:
    """A line for each round: who was in it, what came of it, and a column for each reason of refusal."""
    return _csv(_round_row(one) for one in rounds)


def assimilations_csv(results: Sequence[AssimilationRecord]) -> bytes:
    """A line for each result of a work unit that is in the model, and what was measured after it."""
    return _csv(_assimilation_row(one) for one in results)


def figures_json(
    task: str, versions: Sequence[VersionRecord], evaluations: Evaluations, rounds: Sequence[RoundRecord]
) -> bytes:
    """`{"task", "versions", "rounds"}` (docs/reference/http.md)."""
    content = {
        "task": task,
        "versions": version_summaries(versions, evaluations),
        "rounds": [{**asdict(one), "opened": one.ended - one.seconds} for one in rounds],
    }
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def figures_events(
    versions: Sequence[VersionRecord], evaluations: Evaluations, rounds: Sequence[RoundRecord]
) -> bytes:
    """An event file of TensorBoard; a step is a version, or under `round/` a round."""
    told = [_version_scalars(one, evaluations.get(one.version)) for one in versions]
    told += [_round_scalars(one) for one in rounds]
    return events(sorted(told, key=lambda scalars: scalars.seconds))


def _version_row(one: VersionRecord, evaluation: EvaluationRecord | None, lineage: Lineage) -> Row:
    measured: Row = {}
    if evaluation is not None:
        measured = {"held-out loss": evaluation.loss, **_named("held-out", evaluation.metrics)}
        measured["measured by"] = evaluation.source
    return {
        "version": one.version,
        "round": one.round,
        "created": _moment(one.created),
        "seconds": one.seconds,
        "updates": one.accepted,
        "examples": one.examples,
        "training loss": one.loss,
        **_named("training", one.metrics),
        **measured,
        "weights": one.weights,
        "let go": None if one.let_go is None else _moment(one.let_go),
        "goes back to": lineage.restores.get(one.version),
        "left behind": "yes" if one.version in lineage.left else None,
    }


def _round_row(one: RoundRecord) -> Row:
    return {
        "round": one.round,
        "began with version": one.version,
        "opened": _moment(one.ended - one.seconds),
        "ended": _moment(one.ended),
        "seconds": one.seconds,
        "chosen": one.cohort,
        "accepted": one.accepted,
        "refused": one.refused,
        "outcome": one.outcome,
        "reason": one.reason,
        **_named("accepted", one.accepted_by),
        **_named("refused", one.refusals),
    }


def _assimilation_row(one: AssimilationRecord) -> Row:
    return {
        "number": one.number,
        "epoch": one.epoch,
        "at": _moment(one.at),
        "unit": one.unit,
        "shard": one.shard,
        "first": one.first,
        "examples": one.examples,
        "client": one.client,
        "kind": one.kind,
        "backend": one.backend,
        "base": one.base,
        "staleness": one.staleness,
        "seconds": one.seconds,
        "lost": one.lost,
        "held-out loss": one.loss,
        **_named("held-out", one.metrics),
    }


def _version_scalars(one: VersionRecord, evaluation: EvaluationRecord | None) -> Scalars:
    values = {f"training/{name}": value for name, value in one.metrics.items()}
    if one.loss is not None:
        values["training/loss"] = one.loss
    if evaluation is not None:
        values["held-out/loss"] = evaluation.loss
        values |= {f"held-out/{name}": value for name, value in evaluation.metrics.items()}
    values["version/updates"], values["version/examples"] = one.accepted, one.examples
    return Scalars(one.created, one.version, values)


def _round_scalars(one: RoundRecord) -> Scalars:
    values = {"round/chosen": one.cohort, "round/accepted": one.accepted, "round/refused": one.refused}
    return Scalars(one.ended, one.round, {**values, "round/seconds": one.seconds})


def _named(prefix: str, values: Mapping[str, float]) -> Row:
    """Columns of values that have names. The prefix also keeps a name from being taken for a formula."""
    return {f"{prefix} {name}": value for name, value in values.items()}


def _csv(rows: Iterable[Row]) -> bytes:
    """Lines under the names of all columns that any row has (RFC 4180)."""
    lines = list(rows)
    columns = list(dict.fromkeys(name for line in lines for name in line))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, restval="")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue().encode()


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
