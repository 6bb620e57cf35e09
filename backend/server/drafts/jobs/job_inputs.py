"""Decides which jobs on a draft can run: whose inputs exist, and whose result is missing or outdated."""

from __future__ import annotations

from pathlib import Path

from backend.server.drafts.record import Draft, JobKind
from backend.server.drafts.review.checklist import holds
from backend.server.drafts.starters import building
from backend.server.drafts.transfer.url_data import address_state

# What an owner does first where a job lacks its inputs.
NEEDS: dict[JobKind, str] = {
    "build": "Choose a starter model, and bring data or name the classes of pictures first.",
    "convert": "Bring a model first.",
    "look": "Bring data first.",
    "show": "Upload and inspect the data first.",
    "cut": "Upload data and convert the model first.",
    "forecast": "Take the dry run first; volunteers' own data are not tried here.",
    "rehearse": "Convert the model first, and cut the data, if there are any.",
}


def is_ready(draft: Draft, kind: JobKind, folder: Path) -> bool:
    """Whether the inputs of such a job on the draft in `folder` exist."""
    match kind:
        case "build":
            return building.is_ready(draft)
        case "convert":
            return "model" in draft.files
        case "look":
            return "data" in draft.files
        case "show":
            return "data" in draft.files and "preprocess" in draft.task.get("data", {})
        case "cut":
            placed = draft.task.get("data", {}).get("source") != "url" or address_state(draft)[0]
            return placed and "data" in draft.files and holds(draft, "convert", folder)
        case "rehearse":
            shards = draft.task.get("data", {}).get("source") in ("shards", "url")
            return holds(draft, "convert", folder) and (not shards or holds(draft, "cut", folder))
        case "forecast":
            return holds(draft, "rehearse", folder) and holds(draft, "cut", folder)


def is_due(draft: Draft, kind: JobKind, folder: Path) -> bool:
    """Whether the draft in `folder` has no valid result of such a job but has the job's inputs."""
    if holds(draft, kind, folder) or not is_ready(draft, kind, folder):
        return False
    if draft.starter is not None and kind in ("convert", "cut", "rehearse"):
        # The model is about to be built again, for other data.
        return holds(draft, "build", folder)
    match kind:
        case "build":
            # The inspection proposes how the data are read.
            return "data" not in draft.files or holds(draft, "look", folder)
        case "look":
            # The model's inputs are known after its conversion.
            conversion = draft.jobs.get("convert")
            return conversion is None or not conversion.live
        case "cut":
            data = draft.task.get("data", {})
            declared = data.get("source") in ("shards", "url") and "preprocess" in data
            return declared and holds(draft, "look", folder)
        case _:
            return True
