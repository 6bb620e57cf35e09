"""Copies the model of a hosted task into a draft, with the model's part of the task file."""

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
# Tables that belong to a model for volunteers' own data: how it is tried, and how the data are read.
_WITH_OWN_DATA = ("data", "training", "try")


async def take_model(drafts: Drafts, draft: Draft, folder: Path) -> None:
    """Copies the model of the task in `folder` into the draft, with its part of the task file.

    If that task trains on volunteers' own data, so does the draft, until its owner changes it. Raises
    NotFoundError if the task has no model file, and OverQuotaError.
    """
    tables = await asyncio.to_thread(task_tables.read_tables, folder / task_tables.WHERE)
    source = folder / str(tables["model"]["bundle"]) / "model.keras"
    if not await asyncio.to_thread(source.is_file):
        raise NotFoundError("This task has no model file; start from another task, or upload a file.")
    replaced = draft.files["model"].bytes if "model" in draft.files else 0
    size = max(0, source.stat().st_size - replaced)
    with drafts.reserved(draft, size), translated("The model cannot be copied"):
        draft.files["model"] = await asyncio.to_thread(
            _copy, source, drafts.folder(draft), str(tables["name"]), drafts.clock()
        )
        draft.uploads.pop("model", None)
        draft.starter = None
        draft.task = _with_model(draft.task, tables)
        await drafts.save(draft)
        await asyncio.to_thread(settle, drafts.folder(draft), draft)


def _copy(source: Path, folder: Path, name: str, now: float) -> StoredFile:
    target, aside = folder / f"model{_SUFFIX}", folder / ".model"
    shutil.copyfile(source, aside)
    aside.replace(target)
    return StoredFile(f"{name}{_SUFFIX}", _SUFFIX, target.stat().st_size, file_sha256(target), now)


def _with_model(task: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    changed = {**task, "model": tables["model"]}
    if tables["data"].get("source") == "volunteer":
        changed |= {key: tables[key] for key in _WITH_OWN_DATA if key in tables}
    return task_tables.fixed(changed)
