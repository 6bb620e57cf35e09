"""Summarises a whole draft in sentences, by the wizard's steps, for the review before a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from backend.errors import MingaError
from backend.formats.task_file import TaskFile
from backend.server.drafts.record import Draft
from backend.server.drafts.task_tables import parsed
from backend.server.schemes import scheme_of
from backend.server.tasks.device_support import trained_with
from backend.server.tasks.ethics_statement import publication
from backend.server.tasks.formatting import relative_error, size
from backend.server.tasks.model_inspection import Inspection

VISIBILITY = {
    "public": "Everybody sees the task in the gallery.",
    "unlisted": "Whoever has the address sees the task; the gallery does not show it.",
    "invited": "Only those who were invited, and those with a role, know of the task.",
}
_CLASSES_SHOWN = 6


class Section(Struct):
    """The summary of one step."""

    step: str
    lines: list[str]


def sections(draft: Draft, inspection: Inspection | None) -> list[Section]:
    """Returns a section for each step; if the task file is invalid, they summarise files and jobs only."""
    try:
        file = parsed(draft.task)
    except MingaError:
        file = None
    writers: dict[str, Callable[[TaskFile], Iterator[str]]] = {
        "preprocess": _preprocess,
        "plan": _plan,
        "privacy": _privacy,
        "about": _about,
    }
    steps = {"model": list(_model(draft, file, inspection)), "data": list(_data(draft, file))}
    steps |= {step: list(write(file)) if file else [] for step, write in writers.items()}
    steps["trial"] = list(_dry_run(draft, inspection))
    return [Section(step, lines) for step, lines in steps.items()]


def _model(draft: Draft, file: TaskFile | None, inspection: Inspection | None) -> Iterator[str]:
    if stored := draft.files.get("model"):
        yield f"The file is {stored.name}, {size(stored.bytes)}."
    if inspection is not None:
        sizes = inspection.manifest.parameters
        yield f"The model has {sizes.total:,} parameters, of which {sizes.trainable:,} are trained."
        yield from _comparison(inspection)
    if file is None:
        return
    yield f"A step takes {_rows(file.model.batch_size)}."
    if file.model.loss is not None:
        yield f"The loss is {_measure_name(file.model.loss)}."
    yield from _objectives(file)
    if chosen := file.model.optimizer:
        rate = "" if chosen.learning_rate is None else f", with a learning rate of {chosen.learning_rate:g}"
        yield f"Clients step with {chosen.name}{rate}."
    if file.follows:
        yield f"It is a new version of '{file.follows}'; their pages link to each other."


def _objectives(file: TaskFile) -> Iterator[str]:
    for number, objective in enumerate(file.model.objectives or (), 1):
        losses = ", ".join(_measure_name(loss) for loss in objective.losses)
        trained = ", ".join(objective.trains) if objective.trains else "everything that no other one trains"
        steps = f" with {objective.optimizer.name}" if objective.optimizer else ""
        yield f"The objective {objective.name or number} trains {trained}{steps}, by {losses}."


def _comparison(inspection: Inspection) -> Iterator[str]:
    if (checked := inspection.manifest.checked) is not None:
        yield f"It was checked against Keras: the worst difference was {relative_error(checked.worst)}."
    yield from inspection.manifest.warnings


def _rows(count: int) -> str:
    return "one example" if count == 1 else f"{count} examples at a time"


def _measure_name(measure: Any) -> str:
    if isinstance(measure, dict):
        return str(
            measure.get("name")
            or ", ".join(f"{key}: {_measure_name(value)}" for key, value in measure.items())
        )
    if isinstance(measure, list):
        return ", ".join(map(_measure_name, measure))
    return str(measure)


def _data(draft: Draft, file: TaskFile | None) -> Iterator[str]:
    if file is not None and (own := file.data.own):
        yield f"Volunteers bring data of their own, {own.minimum:,} to {own.maximum:,} examples each."
    if file is not None and file.data.url:
        yield f"Volunteers' devices fetch them from {file.data.url.files[0].address}."
    if stored := draft.files.get("data"):
        yield f"The file is {stored.name}, {size(stored.bytes)}."
    job = draft.jobs.get("look")
    if job is not None and job.result is not None:
        classes = job.result.get("classes") or {}
        yield f"It holds {job.result.get('examples', 0):,} examples{_classes(classes)}."
    cut = draft.jobs.get("cut")
    if cut is not None and cut.state == "done" and cut.log:
        yield cut.log[-1].text


def _classes(classes: dict[str, int]) -> str:
    if not classes:
        return ""
    shown = ", ".join(f"{name} ({count:,})" for name, count in list(classes.items())[:_CLASSES_SHOWN])
    rest = len(classes) - _CLASSES_SHOWN
    return f" of {len(classes)} classes: {shown}{f' and {rest} more' if rest > 0 else ''}"


def _preprocess(file: TaskFile) -> Iterator[str]:
    declared = file.data.preprocess
    if declared is None:
        yield "The data are taken as they are."
        return
    preprocess = msgspec.to_builtins(declared)
    yield f"An example is {_EXAMPLES.get(str(preprocess.get('kind')), 'read as the task file says')}."
    if isinstance(edges := preprocess.get("size"), list):
        yield f"Pictures become {' by '.join(map(str, edges))} points."
    if columns := preprocess.get("columns"):
        yield f"{len(columns)} columns are learnt from."
    if length := preprocess.get("length"):
        yield f"Texts are cut into {length} tokens."
    if file.data.source == "shards":
        yield f"{file.data.holdout:.0%} of the examples are held out, to measure versions on."


_EXAMPLES = {"image": "a picture", "table": "a row of a table", "text": "a text", "array": "an array"}


def _plan(file: TaskFile) -> Iterator[str]:
    scheme, training = scheme_of(file), file.training
    yield from scheme.describe(file.coordination)
    if training.steps:
        yield f"In {scheme.piece} each client takes {training.steps} steps."
    else:
        visits = "once" if training.epochs in (None, 1) else f"{training.epochs} times"
        yield f"In {scheme.piece} each client visits its examples {visits}."
    if training.learning_rate is not None:
        yield f"Clients learn at a rate of {training.learning_rate:g}."


def _privacy(file: TaskFile) -> Iterator[str]:
    disclosure = scheme_of(file).disclose(file, None)
    yield from (f"Volunteers are told of the server: {sentence}" for sentence in disclosure.server)
    yield from (f"And of others who take part: {sentence}" for sentence in disclosure.participants)


def _about(file: TaskFile) -> Iterator[str]:
    yield f"Its title is “{file.title}”, its address ends in /tasks/{file.name}."
    if file.summary:
        yield file.summary
    if file.topics:
        yield f"Topics: {', '.join(file.topics)}."
    if file.licence.model and file.licence.data:
        yield f"The model is under {file.licence.model}, the data: {file.licence.data}."
    ethics = publication(file)
    yield from filter(
        None, (" ".join(filter(None, (ethics.consent, ethics.consent_note))), ethics.people, ethics.care)
    )
    for word, text in (("Harm", ethics.misuse), ("Benefit", ethics.benefit), ("Contact", ethics.contact)):
        if text:
            yield f"{word}: {text}"
    yield VISIBILITY[file.access.visibility]


def _dry_run(draft: Draft, inspection: Inspection | None) -> Iterator[str]:
    job = draft.jobs.get("rehearse")
    if job is not None and job.state == "done" and job.log:
        yield job.log[-1].text
    if inspection is not None:
        yield trained_with(inspection) or "No device can train it."
