"""A draft begins with the model of a task that is here, and with what that task says of it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

from backend.errors import NotFoundError
from backend.formats.file_hash import file_sha256
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts, settle
from backend.server.drafts.record import Draft, StoredFile
from backend.stores.error_translation import translated

_SUFFIX = ".keras"
# What goes with a model: how it is tried, and how people's own data are read for it.
_WITH_OWN_DATA = ("data", "training", "try")


async def take_model(drafts: Drafts, draft: Draft, folder: Path) -> None:
    """Brings the model of the task in `folder` into the draft, and its part of the task file.

    Where that task is learnt from volunteers' own data, the draft is, too, until its owner says otherwise.
    Raises NotFoundError where the task keeps no model's file, OverQuotaError.
    """
    said = await asyncio.to_thread(task_tables.read_tables, folder / task_tables.WHERE)
    source = folder / str(said["model"]["bundle"]) / "model.keras"
    if not await asyncio.to_thread(source.is_file):
        raise NotFoundError("This task keeps no file of its model; begin with another, or bring a file.")
    replaced = draft.files["model"].bytes if "model" in draft.files else 0
    drafts.check_room(draft.owner, source.stat().st_size - replaced)
    with translated("The model cannot be copied"):
        draft.files["model"] = await asyncio.to_thread(
            _copy, source, drafts.folder(draft), str(said["name"]), drafts.clock()
        )
        draft.uploads.pop("model", None)
        draft.task = _with_model(draft.task, said)
        await drafts.save(draft)
        await asyncio.to_thread(settle, drafts.folder(draft), draft)


def _copy(source: Path, folder: Path, name: str, now: float) -> StoredFile:
    target, aside = folder / f"model{_SUFFIX}", folder / ".model"
    shutil.copyfile(source, aside)
    aside.replace(target)
    return StoredFile(f"{name}{_SUFFIX}", _SUFFIX, target.stat().st_size, file_sha256(target), now)


def _with_model(task: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    changed = {**task, "model": said["model"]}
    if said["data"].get("source") == "volunteer":
        changed |= {key: said[key] for key in _WITH_OWN_DATA if key in said}
    return task_tables.fixed(changed)
