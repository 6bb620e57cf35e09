"""What is recorded of a training that costs depend on, read from what a server tells of it.

`Told` are JSON objects of docs/reference/http.md.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backend.formats.manifest import Manifest
from backend.server.estimates.traffic import BYTES_PER_VALUE, traffic

Told = Mapping[str, Any]
_ITEM_BYTES = 4


@dataclass(frozen=True)
class ClientWork:
    """What one client did. Seconds: `busy` those in which it worked, `there` from its first work to its last.

    `examples` were credited, `results` sent, those that did not hold included.
    """

    client: str
    kind: str
    backend: str
    examples: int
    results: int
    busy: float
    there: float


@dataclass(frozen=True)
class TrainingRecord:
    """A training: `seconds` while it ran, bytes to and from its clients, operations of what was credited."""

    task: str
    scheme: str
    passes: int
    seconds: float
    work: tuple[ClientWork, ...]
    down: int
    up: int
    flops: float

    @property
    def busy(self) -> float:
        """Seconds of work of all clients together."""
        return math.fsum(one.busy for one in self.work)

    @property
    def there(self) -> float:
        """Seconds that all clients together were there."""
        return math.fsum(one.there for one in self.work)


def read_results(text: str) -> list[Told]:
    """The rows of assimilations.csv, as far as costs depend on them; `at` in seconds (Unix)."""
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
    summary: Told, manifest: Manifest, rounds: Sequence[Told], people: Sequence[Told]
) -> TrainingRecord:
    """A training in rounds: who sent an update is taken to have worked as long as a round lasts on average.

    That is the most it can be, as nobody tells when a client was done with its part.
    """
    seconds = math.fsum(one["seconds"] for one in rounds)
    each = seconds / len(rounds) if rounds else 0.0
    work = []
    for one in people:
        results = one["accepted"] + one["refused"]
        work.append(_work(one, results, min(results * each, seconds), seconds))
    return _record(summary, manifest, rounds, seconds, work, rows=None)


def of_units(
    summary: Told,
    manifest: Manifest,
    rounds: Sequence[Told],
    people: Sequence[Told],
    results: Sequence[Told],
) -> TrainingRecord:
    """A training in work units, of which `results` are those that are in the model.

    A client's work for the others, which only confirmed somebody's, is taken to have lasted as long in
    proportion to its examples; of a client without any in the model, as long as others of its kind took.
    """
    mine: dict[str, list[Told]] = {}
    for one in results:
        mine.setdefault(one["client"], []).append(one)
    seconds = max(math.fsum(one["seconds"] for one in rounds), _span(results))
    paces = _paces(results)
    work = []
    for one in people:
        own = mine.get(one["client"], [])
        blended = sum(row["examples"] for row in own)
        credited = max(one["examples"], blended)
        pace = paces.get((one["kind"], one["backend"]), paces.get(None, 0.0))
        busy = _union(own) * credited / blended if blended else credited * pace
        work.append(
            _work(
                one, one["accepted"] + one["refused"], min(busy, seconds), max(_span(own), min(busy, seconds))
            )
        )
    rows = sum({(one["client"], one["shard"], one["first"]): one["examples"] for one in results}.values())
    return _record(summary, manifest, rounds, seconds, work, rows)


def _work(one: Told, results: int, busy: float, there: float) -> ClientWork:
    return ClientWork(one["client"], one["kind"], one["backend"], one["examples"], results, busy, there)


def _record(
    summary: Told,
    manifest: Manifest,
    rounds: Sequence[Told],
    seconds: float,
    work: Iterable[ClientWork],
    rows: int | None,
) -> TrainingRecord:
    work = tuple(work)
    joined = traffic(manifest, 0)
    down = sum(joined.browser_bundle if one.kind == "browser" else joined.peer_bundle for one in work)
    vector = BYTES_PER_VALUE * manifest.parameters.total
    results = sum(one.results for one in work)
    down += results * vector + (rows or 0) * _example_bytes(manifest)
    examples = sum(one.examples for one in work)
    flops = examples / manifest.batch_size * (manifest.flops.train + manifest.flops.apply)
    passes = sum(one["outcome"] == "version" for one in rounds)
    return TrainingRecord(
        summary["name"], summary["scheme"], passes, seconds, work, down, results * vector, flops
    )


def _example_bytes(manifest: Manifest) -> int:
    """Of one example's arrays, at most: shards may hold smaller values."""
    shapes = [one.shape for one in manifest.inputs] + [one.shape for one in manifest.labels]
    return _ITEM_BYTES * sum(math.prod(shape) for shape in shapes)


def _paces(results: Sequence[Told]) -> dict[tuple[str, str] | None, float]:
    """Seconds an example, by kind and backend; of all together under None."""
    seconds: dict[tuple[str, str] | None, float] = {}
    examples: dict[tuple[str, str] | None, int] = {}
    for one in results:
        for key in ((one["kind"], one["backend"]), None):
            seconds[key] = seconds.get(key, 0.0) + one["seconds"]
            examples[key] = examples.get(key, 0) + one["examples"]
    return {key: seconds[key] / count for key, count in examples.items() if count}


def _span(results: Sequence[Told]) -> float:
    """Seconds from the first one's begin to the last one's end."""
    if not results:
        return 0.0
    first: float = min(one["at"] - one["seconds"] for one in results)
    last: float = max(one["at"] for one in results)
    return last - first


def _union(results: Sequence[Told]) -> float:
    """Seconds in which at least one of them was worked on: a client may train several units at once."""
    total, until = 0.0, -math.inf
    for begin, end in sorted((one["at"] - one["seconds"], one["at"]) for one in results):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
