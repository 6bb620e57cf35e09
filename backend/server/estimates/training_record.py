"""Reads the facts of a recorded training on which its cost depends, from a server's API.

`Json` are objects of docs/reference/http.md.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backend.errors import SettingsError
from backend.formats.manifest import Manifest
from backend.server.estimates.traffic import BYTES_PER_VALUE, traffic

Json = Mapping[str, Any]
# Checked where a record is read from a file.
Amount = Annotated[float, Meta(ge=0.0)]
Number = Annotated[int, Meta(ge=0)]
_ITEM_BYTES = 4


@dataclass(frozen=True)
class ClientWork:
    """The work of a client: `busy` seconds of work, and `there` seconds from its first work to its last.

    `examples` are those credited; `results` counts all results that it sent, refused ones included.
    """

    client: str
    kind: str
    backend: str
    examples: Number
    results: Number
    busy: Amount
    there: Amount


@dataclass(frozen=True)
class TrainingRecord:
    """A training: its `seconds`, bytes `down` to and `up` from clients, and FLOP of credited examples."""

    task: str
    scheme: str
    passes: Number
    seconds: Amount
    work: tuple[ClientWork, ...]
    down: Number
    up: Number
    flops: Amount

    @property
    def busy(self) -> float:
        """Returns the total seconds of work of all clients."""
        return math.fsum(client.busy for client in self.work)

    @property
    def there(self) -> float:
        """Returns the total seconds of all clients from their first work to their last."""
        return math.fsum(client.there for client in self.work)


@dataclass(frozen=True)
class _StoredRecord:
    """The content of a record's file."""

    record: TrainingRecord
    format: Literal["minga-training-record/1"] = "minga-training-record/1"


def read_results(text: str) -> list[Json]:
    """Reads the columns of assimilations.csv on which costs depend; `at` is in Unix seconds."""
    return [
        {
            "at": datetime.fromisoformat(row["at"]).timestamp(),
            "seconds": float(row["seconds"]),
            **{key: int(row[key]) for key in ("shard", "first", "examples")},
            **{key: row[key] for key in ("client", "kind", "backend")},
        }
        for row in csv.DictReader(io.StringIO(text))
    ]


def of_rounds(
    summary: Json, manifest: Manifest, rounds: Sequence[Json], people: Sequence[Json]
) -> TrainingRecord:
    """Returns the record of a training in rounds; each result counts as work of the average round length.

    Rounds do not record when a client finished, so this is an upper bound.
    """
    seconds = math.fsum(round["seconds"] for round in rounds)
    average = seconds / len(rounds) if rounds else 0.0
    work = []
    for person in people:
        results = person["accepted"] + person["refused"]
        work.append(_work(person, results, min(results * average, seconds), seconds))
    return _record(summary, manifest, rounds, seconds, work, rows=None)


def of_units(
    summary: Json,
    manifest: Manifest,
    rounds: Sequence[Json],
    people: Sequence[Json],
    results: Sequence[Json],
    traffic: Json | None = None,
) -> TrainingRecord:
    """Returns the record of a training in work units; `results` are the assimilated ones.

    `traffic` has the bytes that the server `sent` and `received`; without it they are estimated.

    A client's other results, which only confirmed another client's, count as equally long in proportion to
    their examples; for a client without assimilated results, at the pace of clients of its kind and backend.
    """
    by_client: dict[str, list[Json]] = {}
    for result in results:
        by_client.setdefault(result["client"], []).append(result)
    seconds = max(math.fsum(round["seconds"] for round in rounds), _span(results))
    paces = _paces(results)
    work = []
    for person in people:
        own = by_client.get(person["client"], [])
        assimilated = sum(row["examples"] for row in own)
        credited = max(person["examples"], assimilated)
        pace = paces.get((person["kind"], person["backend"]), paces.get(None, 0.0))
        busy = _union(own) * credited / assimilated if assimilated else credited * pace
        sent = person["accepted"] + person["refused"]
        work.append(_work(person, sent, min(busy, seconds), max(_span(own), min(busy, seconds))))
    rows = sum({(row["client"], row["shard"], row["first"]): row["examples"] for row in results}.values())
    record = _record(summary, manifest, rounds, seconds, work, rows)
    if traffic is None:
        return record
    return replace(record, down=int(traffic["sent"]), up=int(traffic["received"]))


def _work(person: Json, results: int, busy: float, there: float) -> ClientWork:
    return ClientWork(
        person["client"], person["kind"], person["backend"], person["examples"], results, busy, there
    )


def _record(
    summary: Json,
    manifest: Manifest,
    rounds: Sequence[Json],
    seconds: float,
    work: Iterable[ClientWork],
    rows: int | None,
) -> TrainingRecord:
    work = tuple(work)
    joined = traffic(manifest, 0)
    down = sum(joined.browser_bundle if client.kind == "browser" else joined.peer_bundle for client in work)
    vector = BYTES_PER_VALUE * manifest.parameters.total
    results = sum(client.results for client in work)
    down += results * vector + (rows or 0) * _example_bytes(manifest)
    examples = sum(client.examples for client in work)
    flops = flops_of(manifest, examples)
    passes = sum(round["outcome"] == "version" for round in rounds)
    return TrainingRecord(
        summary["name"], summary["scheme"], passes, seconds, work, down, results * vector, flops
    )


def flops_of(manifest: Manifest, examples: int) -> float:
    """Returns the FLOP of training on so many examples, counted in each pass."""
    return examples / manifest.batch_size * (manifest.flops.train + manifest.flops.apply)


def write_record(path: Path, record: TrainingRecord) -> None:
    """Writes a record into a file. Raises SettingsError."""
    content = msgspec.json.format(msgspec.json.encode(_StoredRecord(record)), indent=1)
    try:
        path.write_bytes(content + b"\n")
    except OSError as error:
        raise SettingsError(f"The record cannot be written into {path}: {error}.") from error


def read_record(path: Path) -> TrainingRecord:
    """Reads a record that `write_record` wrote. Raises SettingsError."""
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_StoredRecord)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(
            f"{path} is no record of a training ({error}); `minga simulate TASK --record FILE` writes one."
        ) from error
    return stored.record


def _example_bytes(manifest: Manifest) -> int:
    """Returns the maximum bytes of one example's arrays: shards may store smaller types."""
    shapes = [spec.shape for spec in manifest.inputs] + [spec.shape for spec in manifest.labels]
    return _ITEM_BYTES * sum(math.prod(shape) for shape in shapes)


def _paces(results: Sequence[Json]) -> dict[tuple[str, str] | None, float]:
    """Returns seconds per example by kind and backend; the key None is the mean of all."""
    seconds: dict[tuple[str, str] | None, float] = {}
    examples: dict[tuple[str, str] | None, int] = {}
    for result in results:
        for key in ((result["kind"], result["backend"]), None):
            seconds[key] = seconds.get(key, 0.0) + result["seconds"]
            examples[key] = examples.get(key, 0) + result["examples"]
    return {key: seconds[key] / count for key, count in examples.items() if count}


def _span(results: Sequence[Json]) -> float:
    """Returns the seconds from the first result's begin to the last result's end."""
    if not results:
        return 0.0
    first: float = min(result["at"] - result["seconds"] for result in results)
    last: float = max(result["at"] for result in results)
    return last - first


def _union(results: Sequence[Json]) -> float:
    """Returns the seconds with work on at least one result: a client may train several units in parallel."""
    total, until = 0.0, -math.inf
    for begin, end in sorted((result["at"] - result["seconds"], result["at"]) for result in results):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
