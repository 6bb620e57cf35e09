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
from backend.server.estimates.mesh_checks import check_warnings
from backend.server.schemes import scheme_of
from backend.server.tasks.device_support import trained_with
from backend.server.tasks.ethics_statement import publication
from backend.server.tasks.formatting import number, relative_error, size
from backend.server.tasks.model_inspection import Inspection
from backend.translation import gettext, later, ngettext

VISIBILITY = {
    "public": later("Everyone sees the task in the gallery."),
    "unlisted": later("Anyone with the address sees the task; the gallery does not list it."),
    "invited": later("Only people with an invitation or a role see the task."),
}
# What the owner may ask of newcomers (`newcomers` in [access]).
NEWCOMERS = {
    "open": later("Nothing: everyone who may see the task takes part."),
    "probation": later("Patience: what they send is checked in their first rounds, before it counts."),
    "work": later("Some seconds of computing, once, before they take part."),
    "invited": later("An invitation, or a role on the task; others only read about it."),
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
        yield gettext("The file is %(name)s, %(size)s.") % {"name": stored.name, "size": size(stored.bytes)}
    if inspection is not None:
        sizes = inspection.manifest.parameters
        yield gettext("The model has %(all)s parameters, of which %(trained)s are trained.") % {
            "all": number(sizes.total),
            "trained": number(sizes.trainable),
        }
        yield from _comparison(inspection)
    if file is None:
        return
    batch = file.model.batch_size
    yield ngettext("A step takes %(count)s example.", "A step takes %(count)s examples.", batch) % {
        "count": number(batch)
    }
    if file.model.loss is not None:
        yield gettext("The loss is %(loss)s.") % {"loss": _measure_name(file.model.loss)}
    yield from _objectives(file)
    if chosen := file.model.optimizer:
        sentence = gettext("Clients use the optimizer %(optimizer)s.")
        if chosen.learning_rate is not None:
            sentence = gettext("Clients use the optimizer %(optimizer)s with a learning rate of %(rate)s.")
        yield sentence % {"optimizer": chosen.name, "rate": f"{chosen.learning_rate or 0:g}"}
    if file.follows:
        yield gettext("It is a new version of '%(task)s'; their pages link to each other.") % {
            "task": file.follows
        }


def _objectives(file: TaskFile) -> Iterator[str]:
    for place, objective in enumerate(file.model.objectives or (), 1):
        losses = ", ".join(_measure_name(loss) for loss in objective.losses)
        rest = gettext("everything that no other objective trains")
        sentence = gettext("The objective %(name)s trains %(layers)s, by %(losses)s.")
        if objective.optimizer:
            sentence = gettext("The objective %(name)s trains %(layers)s with %(optimizer)s, by %(losses)s.")
        yield sentence % {
            "name": objective.name or place,
            "layers": ", ".join(objective.trains) if objective.trains else rest,
            "optimizer": objective.optimizer.name if objective.optimizer else "",
            "losses": losses,
        }


def _comparison(inspection: Inspection) -> Iterator[str]:
    if (checked := inspection.manifest.checked) is not None:
        yield gettext("It was checked against Keras: the worst difference was %(worst)s.") % {
            "worst": relative_error(checked.worst)
        }
    yield from inspection.manifest.warnings


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
        yield gettext("Volunteers bring their own data, %(least)s to %(most)s examples each.") % {
            "least": number(own.minimum),
            "most": number(own.maximum),
        }
    if file is not None and file.data.url:
        address = file.data.url.files[0].address
        yield gettext("Volunteers' devices fetch them from %(address)s.") % {"address": address}
    if stored := draft.files.get("data"):
        yield gettext("The file is %(name)s, %(size)s.") % {"name": stored.name, "size": size(stored.bytes)}
    job = draft.jobs.get("look")
    if job is not None and job.result is not None:
        yield _holds(job.result.get("examples", 0), job.result.get("classes") or {})
    cut = draft.jobs.get("cut")
    if cut is not None and cut.state == "done" and cut.log:
        yield cut.log[-1].text


def _holds(examples: int, classes: dict[str, int]) -> str:
    rest = len(classes) - _CLASSES_SHOWN
    if not classes:
        sentence = gettext("It holds %(examples)s examples.")
    elif rest > 0:
        sentence = gettext(
            "It holds %(examples)s examples of %(count)s classes: %(classes)s and %(rest)s more."
        )
    else:
        sentence = gettext("It holds %(examples)s examples of %(count)s classes: %(classes)s.")
    shown = [f"{name} ({number(count)})" for name, count in list(classes.items())[:_CLASSES_SHOWN]]
    return sentence % {
        "examples": number(examples),
        "count": len(classes),
        "classes": ", ".join(shown),
        "rest": rest,
    }


def _preprocess(file: TaskFile) -> Iterator[str]:
    declared = file.data.preprocess
    if declared is None:
        yield gettext("The data are used as they are.")
        return
    preprocess = msgspec.to_builtins(declared)
    yield gettext(_EXAMPLES.get(str(preprocess.get("kind")), _AS_SAID))
    if isinstance(edges := preprocess.get("size"), list):
        yield gettext("Pictures become %(size)s points.") % {"size": " × ".join(map(str, edges))}
    if columns := preprocess.get("columns"):
        yield ngettext(
            "The model learns from %(count)s column.",
            "The model learns from %(count)s columns.",
            len(columns),
        ) % {"count": len(columns)}
    if length := preprocess.get("length"):
        yield gettext("Texts are cut into %(count)s tokens.") % {"count": length}
    if file.data.source == "shards":
        yield gettext("%(share)s of the examples are held out, to measure versions on.") % {
            "share": f"{file.data.holdout:.0%}"
        }


_AS_SAID = later("An example is read as the task file says.")
_EXAMPLES = {
    "image": later("An example is a picture."),
    "audio": later("An example is a recording."),
    "table": later("An example is a row of a table."),
    "text": later("An example is a text."),
    "array": later("An example is an array."),
}


def _plan(file: TaskFile) -> Iterator[str]:
    scheme, training = scheme_of(file), file.training
    yield from scheme.describe(file.coordination)
    if training.steps:
        sentence, count = gettext("In %(piece)s each client takes %(count)s steps."), training.steps
    else:
        count = training.epochs or 1
        sentence = ngettext(
            "In %(piece)s each client visits its examples once.",
            "In %(piece)s each client visits its examples %(count)s times.",
            count,
        )
    yield sentence % {"piece": gettext(scheme.piece), "count": count}
    if training.learning_rate is not None:
        yield gettext("Clients learn at a rate of %(rate)s.") % {"rate": f"{training.learning_rate:g}"}
    yield from check_warnings(file)


def _privacy(file: TaskFile) -> Iterator[str]:
    disclosure = scheme_of(file).disclose(file, None)
    of_server, of_others = (
        gettext("What volunteers read about the server: %(sentence)s"),
        gettext("What they read about other participants: %(sentence)s"),
    )
    yield from (of_server % {"sentence": sentence} for sentence in disclosure.server)
    yield from (of_others % {"sentence": sentence} for sentence in disclosure.participants)


def _about(file: TaskFile) -> Iterator[str]:
    yield gettext("Its title is “%(title)s”, its address ends in /tasks/%(name)s.") % {
        "title": file.title,
        "name": file.name,
    }
    if file.summary:
        yield file.summary
    if file.topics:
        yield gettext("Topics: %(topics)s.") % {"topics": ", ".join(file.topics)}
    if file.licence.model and file.licence.data:
        yield gettext("The model is under %(model)s, the data: %(data)s.") % {
            "model": file.licence.model,
            "data": file.licence.data,
        }
    ethics = publication(file)
    yield from filter(
        None, (" ".join(filter(None, (ethics.consent, ethics.consent_note))), ethics.people, ethics.care)
    )
    answers = (
        (gettext("Harm"), ethics.misuse),
        (gettext("Benefit"), ethics.benefit),
        (gettext("Contact"), ethics.contact),
        (gettext("Run by"), ethics.owner),
    )
    yield from (f"{word}: {text}" for word, text in answers if text)
    yield gettext(VISIBILITY[file.access.visibility])
    if file.access.newcomers != "open":
        asked = gettext(NEWCOMERS[file.access.newcomers])
        yield gettext("What is asked of newcomers: %(asked)s") % {"asked": asked}


def _dry_run(draft: Draft, inspection: Inspection | None) -> Iterator[str]:
    job = draft.jobs.get("rehearse")
    if job is not None and job.state == "done" and job.log:
        yield job.log[-1].text
    if inspection is not None:
        yield trained_with(inspection) or gettext("No device can train it.")
