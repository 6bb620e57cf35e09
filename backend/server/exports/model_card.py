"""Writes a version's model card in Markdown (Mitchell et al. 2019): its origin, quality and use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from backend.server.disclosure.statement import Disclosure
from backend.server.estimates.energy import training_energy, training_flops
from backend.server.exports.export_formats import FORMATS
from backend.server.tasks.ethics_statement import Publication, publication
from backend.server.tasks.formatting import operations
from backend.server.tasks.task import Task
from backend.stores.contracts import ContributionRecord, EvaluationRecord, RoundRecord, VersionRecord

_MARKS = re.compile(r"([\\`*_\[\]<>#|~&!])")


@dataclass(frozen=True)
class Facts:
    """The facts of a version: `versions` and `rounds` are those up to it; it is the last of `versions`.

    `given` are the contributions to the task so far, `privacy` is the account's current report, `files` are
    the hashes of the version's exported files by format.
    """

    task: Task
    versions: Sequence[VersionRecord]
    evaluation: EvaluationRecord | None
    rounds: Sequence[RoundRecord]
    given: Sequence[ContributionRecord]
    privacy: Mapping[str, Any] | None
    disclosure: Disclosure
    files: Mapping[str, str]

    @property
    def version(self) -> VersionRecord:
        """Returns the version itself."""
        return self.versions[-1]


def model_card(facts: Facts) -> str:
    """Returns the model card of a version."""
    file = facts.task.file
    parts = [
        f"# {plain(file.title)}, version {facts.version.version}",
        plain(file.summary),
        _table("This version", _version(facts)),
        _table("How good it is", _quality(facts)),
        _table("What it learnt from", _data(facts)),
        _table("Who trained it, and what it cost", _training(facts)),
        _list("What can be learnt about who took part", _privacy(facts)),
        _list("How to use it", _use(facts)),
        _table("Terms", [("Model", plain(file.licence.model or "not stated by its owner")),
                         ("Data", plain(file.licence.data or "not stated by its owner"))]),
        _table("What its owner says of the data and the people in them", _people(publication(file))),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: str) -> str:
    """Escapes `text` so that Markdown shows it literally, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _version(facts: Facts) -> Iterator[tuple[str, str]]:
    one, manifest = facts.version, facts.task.bundle.manifest
    yield "Task", f"`{facts.task.file.name}`"
    yield "Made", f"{_moment(one.created)}, by round {one.round}" if one.round else "before the first round"
    same = next((earlier for earlier in facts.versions[:-1] if earlier.weights == one.weights), None)
    if same is not None:
        yield "The same as", f"version {same.version}: the owner went back to it"
    yield "Parameters", f"{manifest.parameters.total:,}, {manifest.parameters.trainable:,} of them trained"
    yield "SHA-256 of the weights", f"`{one.weights}` (little-endian float32, in the order of bundle.json)"
    yield "SHA-256 of the bundle", f"`{facts.task.bundle.address}`"
    for name, sha256 in facts.files.items():
        yield f"SHA-256 of the {FORMATS[name].title} file", f"`{sha256}`"


def _quality(facts: Facts) -> Iterator[tuple[str, str]]:
    measured, one = facts.evaluation, facts.version
    if measured is not None:
        who = "the server, on the task's" if measured.source == "server" else "clients, on their own"
        yield "Measured by", f"{who} held-out examples"
        yield "Loss", f"{measured.loss:.4g}"
        yield from ((plain(name).capitalize(), f"{value:.4g}") for name, value in measured.metrics.items())
    if one.loss is not None:
        yield "Loss while training", f"{one.loss:.4g}"
    if measured is None and one.loss is None:
        yield "Not measured", "nobody measured this version"


def _data(facts: Facts) -> Iterator[tuple[str, str]]:
    data, shards = facts.task.file.data, facts.task.shards
    if data.own:
        yield "Data", "volunteers' own, which never left their devices"
        yield "Of each volunteer", f"{data.own.minimum:,} to {data.own.maximum:,} examples"
    elif data.url:
        places = ", ".join(data.url.origins)
        yield "Data", f"{shards.examples:,} public examples, which clients fetched from {places}"
        yield "Held out", f"{data.url.held_out:,} examples, on which nobody trains"
        for file in data.url.files:
            yield f"SHA-256 of {file.name}", file.sha256
    else:
        yield "Data", f"{shards.examples:,} public examples in {len(shards.train)} shards"
        yield "Shards held out", f"{len(shards.holdout)}, on which nobody trains"
    for label in facts.task.bundle.manifest.labels:
        if label.classes is not None:
            yield f"Classes of {plain(label.name)}", str(label.classes)


def _training(facts: Facts) -> Iterator[tuple[str, str]]:
    manifest, file = facts.task.bundle.manifest, facts.task.file
    successful = sum(round.outcome == "version" for round in facts.rounds)
    examples = sum(version.examples for version in facts.versions)
    kinds: Counter[str] = Counter()
    for round in facts.rounds:
        kinds.update(round.accepted_by)
    yield "Scheme", file.coordination.scheme
    yield "Rounds", f"{successful} that made a version, {len(facts.rounds) - successful} that did not"
    yield "Updates that count", f"{sum(version.accepted for version in facts.versions):,}"
    if kinds:
        yield "From", ", ".join(f"{plain(kind)}: {count:,}" for kind, count in kinds.most_common())
    yield "Participants of the task so far", f"{sum(one.accepted > 0 for one in facts.given):,}"
    if not examples:
        yield "Examples and energy", "not known: clients do not tell, or nothing was trained yet"
        return
    low, high = training_energy(manifest, examples)
    yield "Examples", f"{examples:,}, each visit counted"
    yield "Work", operations(training_flops(manifest, examples))
    yield (
        "Energy, estimated",
        (
            f"{low:.2g} to {high:.2g} Wh drawn by participants' devices while they computed; without the "
            "network, and without work that did not count"
        ),
    )


def _privacy(facts: Facts) -> Iterator[str]:
    told = facts.privacy
    if told is not None:
        budget = f", of a budget of {told['budget']:g}" if told["budget"] else ""
        epsilon = "no epsilon" if told["epsilon"] is None else f"epsilon {told['epsilon']:.3g}"
        yield f"{told['sentence']} ({epsilon} at delta {told['delta']:g}{budget}; as of now)"
    yield from facts.disclosure.readers


def _people(told: Publication) -> Iterator[tuple[str, str]]:
    reason = " ".join(filter(None, (told.consent, plain(told.consent_note))))
    rows = {
        "Why the data may be used": reason,
        "People in the data": " ".join(filter(None, (told.people, plain(told.care)))),
        "How it could do harm": plain(told.misuse),
        "Who gains by it": plain(told.benefit),
        "Whom to ask": plain(told.contact),
        "Run by": plain(told.owner),
    }
    yield from ((name, said or "not stated by its owner") for name, said in rows.items())


def _use(facts: Facts) -> Iterator[str]:
    manifest = facts.task.bundle.manifest
    for port in manifest.inputs:
        yield f"Input `{port.name}`: {port.dtype}, [rows{''.join(f', {n}' for n in port.shape)}]"
    scale, offset = manifest.preprocess.scale, manifest.preprocess.offset
    if scale != 1.0 or offset != 0.0:
        yield f"Inputs are stored values times {scale} plus {offset}; the model expects them so."
    declared = facts.task.file.data.preprocess
    if declared is not None:
        kind = declared.__struct_config__.tag
        yield f"How stored values are made of raw ones: `[data.preprocess]` of the task, kind `{kind}`."
    for out in manifest.outputs:
        yield f"Output `{out.name}`: {out.dtype}, [rows{''.join(f', {n}' for n in out.shape)}]"
    labels = facts.task.file.trial.labels if facts.task.file.trial else []
    if labels:
        yield f"Labels, in order: {', '.join(map(plain, labels))}"
    yield from (f"{one.title} (`{one.name}`): {one.use}" for one in FORMATS.values())


def _table(title: str, rows: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> str:
    lines = [f"| {name} | {value} |" for name, value in rows]
    return "\n".join([f"## {title}", "", "| | |", "|---|---|", *lines])


def _list(title: str, sentences: Iterator[str]) -> str:
    return "\n".join([f"## {title}", "", *(f"- {sentence}" for sentence in sentences)])


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
