"""Lists what a draft still needs before its launch, and which results of its jobs are still valid."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from backend.errors import BundleError, MingaError, TaskFileError
from backend.formats.shard_index import read_index
from backend.formats.task_file import TaskFile
from backend.server.drafts.dry_runs.browser_dry_runs import summary_of
from backend.server.drafts.record import Draft, JobKind
from backend.server.drafts.starters import building
from backend.server.drafts.starters.starters import STARTERS
from backend.server.drafts.task_tables import BUNDLE, SHARDS, parsed
from backend.server.drafts.transfer.url_data import address_state
from backend.server.tasks.device_support import trained_with
from backend.server.tasks.launch_statements import statements
from backend.server.tasks.model_inspection import Inspection
from backend.server.tasks.task_validation import check_recipe, check_task
from backend.translation import gettext

# Within a draft's folder: the future task's folder, the inspected data and the previewed data.
TASK, LOOKED, SHOWN = "task", "looked", "shown"
MADE: dict[JobKind, str] = {
    "build": building.BUILT,
    "convert": f"{TASK}/{BUNDLE}",
    "look": LOOKED,
    "show": SHOWN,
    "cut": f"{TASK}/{SHARDS}",
    "rehearse": "rehearsed",
    "forecast": "forecast",
}
# Keys of [data] on which shards depend; the number of shards per client only concerns rounds.
_CUTTING = ("source", "holdout", "partition", "preprocess")
# Keys of [coordination] on which the training of a plan depends.
_TRAINED = (
    "scheme",
    "rounds",
    "min_available_clients",
    "fraction_train",
    "min_train_clients",
    "over_selection",
    "units",
)


class Item(Struct):
    """A line of the checklist; `text` is a sentence. `for_test`: a private test needs it, too."""

    key: str
    state: Literal["done", "todo", "running", "failed"]
    text: str
    for_test: bool = True


def fingerprint(draft: Draft, kind: JobKind) -> str:
    """Returns a hash of everything that the result of such a job depends on."""
    data = _table(draft, "data")
    hashes = {name: stored.sha256 for name, stored in draft.files.items()}
    parts: Any
    match kind:
        case "build":
            parts = building.inputs_of(draft)
        case "convert":
            parts = [hashes.get("model"), draft.task.get("model")]
        case "look":
            # The model's inputs determine how its data are read; a starter is built for the data instead.
            parts = [hashes.get("data"), hashes.get("model") if draft.starter is None else None]
        case "show":
            model = fingerprint(draft, "convert") if "convert" in draft.jobs else None
            parts = [hashes.get("data"), data.get("preprocess"), data.get("holdout"), model]
        case "cut":
            cutting = {key: data.get(key) for key in _CUTTING}
            parts = [hashes.get("data"), cutting, fingerprint(draft, "convert")]
        case "rehearse":
            parts = [fingerprint(draft, "convert"), fingerprint(draft, "cut")]
        case "forecast":
            chosen, masks = _table(draft, "coordination"), _table(draft, "security").get("aggregation")
            plan = [{key: chosen.get(key) for key in _TRAINED}, _table(draft, "training"), masks]
            parts = [fingerprint(draft, "rehearse"), plan, data.get("shards_per_client")]
    text = json.dumps([kind, parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def holds(draft: Draft, kind: JobKind, folder: Path) -> bool:
    """Whether the result of such a job exists and its inputs have not changed."""
    job = draft.jobs.get(kind)
    if job is None or job.state != "done" or job.of != fingerprint(draft, kind):
        return False
    return (folder / MADE[kind]).is_dir()


def checklist(
    draft: Draft, folder: Path, inspection: Inspection | None, name_problem: str | None = None
) -> list[Item]:
    """Returns the requirements of a launch, in their order; the last items state which devices can train.

    `name_problem` says why the draft's name cannot be used, if it cannot.
    """
    file = _task_file(draft)
    own = isinstance(file, TaskFile) and file.data.own is not None
    items = _model_items(draft, folder)
    if own:
        own_data = gettext("Volunteers bring their own data; no upload is needed.")
        items.append(Item("data", "done", own_data))
    elif "data" not in draft.files and holds(draft, "cut", folder):
        kept = gettext("The previous task's data are kept. Upload others to replace them.")
        items.append(Item("data", "done", kept))
    else:
        items += [
            _file_item(draft, "data"),
            _job_item(draft, folder, "look", gettext("Look at the data.")),
            _job_item(draft, folder, "cut", gettext("Cut the data for this model.")),
        ]
    if _table(draft, "data").get("source") == "url":
        placed, text = address_state(draft)
        items.append(Item("address", "done" if placed else "todo", text))
    items.append(_job_item(draft, folder, "rehearse", gettext("Take one training step as a dry run.")))
    items.append(_browser_item(draft, folder))
    items.append(_task_item(file, inspection, folder / MADE["cut"] if holds(draft, "cut", folder) else None))
    if name_problem is not None:
        items.append(Item("name", "failed", name_problem))
    items += _texts(draft)
    return items + (_devices(inspection) if inspection is not None else [])


def _model_items(draft: Draft, folder: Path) -> list[Item]:
    """Returns the items of the model: of an upload, or of a starter that is built for the data."""
    convert = _job_item(draft, folder, "convert", gettext("Convert the model."))
    if draft.starter is None:
        return [_file_item(draft, "model"), convert]
    title = gettext(STARTERS[draft.starter].title) if draft.starter in STARTERS else draft.starter
    chosen = gettext("You begin with a starter model: %(title)s.") % {"title": title}
    items = [Item("model-file", "done", chosen)]
    if not building.is_ready(draft):
        waits = gettext("Bring the data, so that the starter model is built for them.")
        return [*items, Item("starter", "todo", waits)]
    return [*items, _job_item(draft, folder, "build", gettext("Build the starter model.")), convert]


def missing(items: list[Item], test: bool = False) -> list[Item]:
    """Returns the items that still prevent the launch, or with `test` a private test."""
    return [item for item in items if item.state != "done" and (item.for_test or not test)]


def _task_file(draft: Draft) -> TaskFile | str:
    try:
        return parsed(draft.task)
    except MingaError as error:
        return str(error)


def _task_item(file: TaskFile | str, inspection: Inspection | None, shards: Path | None) -> Item:
    """Checks the task file, and its fit to the model once that is converted, and to the `shards` once cut."""
    if isinstance(file, str):
        return Item("task", "failed", file)
    if inspection is not None:
        holdout = file.data.holdout > 0.0
        try:
            check_task(file, inspection.manifest, holdout, holdout)
            if shards is not None:
                rows = [shard.examples for shard in read_index(shards).train]
                check_recipe(file, inspection.manifest, rows)
        except (TaskFileError, BundleError) as error:
            return Item("task", "failed", str(error))
    return Item("task", "done", gettext("The task file is valid."))


def _file_item(draft: Draft, kind: Literal["model", "data"]) -> Item:
    stored = draft.files.get(kind)
    if stored is not None:
        return Item(f"{kind}-file", "done", gettext("%(name)s is here.") % {"name": stored.name})
    if kind in draft.uploads:
        upload = gettext("%(name)s is on its way.") % {"name": draft.uploads[kind].name}
        return Item(f"{kind}-file", "running", upload)
    return Item(
        f"{kind}-file", "todo", gettext("Bring the model.") if kind == "model" else gettext("Bring the data.")
    )


def _job_item(draft: Draft, folder: Path, kind: JobKind, todo: str) -> Item:
    job = draft.jobs.get(kind)
    if job is None:
        return Item(kind, "todo", todo)
    last = job.log[-1].text if job.log else todo
    if job.live:
        return Item(kind, "running", last)
    if holds(draft, kind, folder):
        return Item(kind, "done", last)
    if job.of == fingerprint(draft, kind) and job.state == "failed":
        return Item(kind, "failed", last)
    changed = gettext("Something it depends on has changed.")
    return Item(kind, "todo", f"{todo} {changed}" if job.state == "done" else todo)


def _browser_item(draft: Draft, folder: Path) -> Item:
    if not holds(draft, "rehearse", folder):
        return Item("browser", "todo", gettext("Take the same step in a browser, after the dry run here."))
    state, text = summary_of(draft.tried, fingerprint(draft, "rehearse"))
    return Item("browser", state, text)


def _texts(draft: Draft) -> list[Item]:
    """Returns the items for the texts that volunteers read before they take part."""
    return [
        Item(one.key, "done" if one.remedy is None else "todo", one.remedy or one.done, one.for_test)
        for one in statements(draft.task)
    ]


def _table(draft: Draft, name: str) -> dict[str, Any]:
    """Returns a table of the draft; empty if it is no table, which the task file's item reports."""
    table = draft.task.get(name)
    return table if isinstance(table, dict) else {}


def _devices(inspection: Inspection) -> list[Item]:
    if all(backend.eligible == "nowhere" for backend in inspection.backends):
        reason = inspection.backends[0].reasons[0]
        cannot = gettext("No device can train this model.")
        return [Item("devices", "failed", f"{cannot} {reason}")]
    return [Item("devices", "done", trained_with(inspection))]
