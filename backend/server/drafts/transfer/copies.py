"""New drafts made of others, and of tasks, whose model and data stay: a change begins as a copy."""

from __future__ import annotations

import asyncio
import copy
import shutil
from pathlib import Path
from typing import Any

from backend.errors import NotWantedError
from backend.formats.file_hash import file_sha256
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.record import RECORD, Draft, DraftJob, JobKind, JobLine, StoredFile
from backend.server.drafts.review.checklist import MADE, TASK, fingerprint
from backend.server.drafts.review.comparison import read_text
from backend.stores.error_translation import translated

KERAS = ".keras"


async def copy_draft(drafts: Drafts, of: Draft, owner: str, name: str) -> Draft:
    """Another draft with all that `of` has, but for files on their way and work that is not over.

    Raises OverQuotaError, and NotWantedError while work is being done.
    """
    if any(job.live for job in of.jobs.values()):
        raise NotWantedError("Work on this draft is being done; wait for it, or cancel it, then copy it.")
    drafts.check_room(owner, sum(one.bytes for one in of.files.values()))
    made = await drafts.create(owner, {**copy.deepcopy(of.task), "name": name}, of.readme)
    try:
        with translated("The draft cannot be copied"):
            await asyncio.to_thread(_copy_all, drafts.folder(of), drafts.folder(made))
    except BaseException:
        await drafts.delete(made)
        raise
    made.files, made.jobs = copy.deepcopy(of.files), copy.deepcopy(of.jobs)
    made.tried = copy.deepcopy(of.tried)
    await drafts.save(made)
    return made


async def copy_task(drafts: Drafts, folder: Path, owner: str, name: str) -> Draft:
    """A draft of a new version of the task in `folder`: its model, its shards and what it says of itself.

    Raises OverQuotaError, or TaskFileError where its task file holds what no draft may.
    """
    said = await asyncio.to_thread(task_tables.read_tables, folder / task_tables.WHERE)
    readme = await asyncio.to_thread(read_text, folder)
    before = str(said["name"])
    # What runs on the server is its operator's, and stays with the task that they wrote.
    said.pop("hooks", None)
    parts: dict[JobKind, Path] = {"convert": folder / str(said["model"]["bundle"])}
    if said["data"].get("source") == "shards":
        parts["cut"] = folder / str(said["data"]["shards"])
    drafts.check_room(owner, await asyncio.to_thread(_size, list(parts.values())))
    made = await drafts.create(owner, task_tables.fixed({**said, "name": name, "follows": before}), readme)
    try:
        with translated("The task cannot be copied"):
            for kind, source in parts.items():
                await asyncio.to_thread(shutil.copytree, source, drafts.folder(made) / MADE[kind])
            made.files |= await asyncio.to_thread(_model, drafts.folder(made), drafts.clock())
    except BaseException:
        await drafts.delete(made)
        raise
    # Work on the model first: that on the data depends on it.
    for kind in parts:
        made.jobs[kind] = _done(made, kind, before, drafts.clock())
    await drafts.save(made)
    return made


def _done(draft: Draft, kind: JobKind, before: str, now: float) -> DraftJob:
    line = JobLine(now, f"Taken over from '{before}'.")
    return DraftJob("done", fingerprint(draft, kind), now, now, [line])


def _copy_all(source: Path, target: Path) -> None:
    def left(folder: str, names: list[str]) -> set[str]:
        """What is being written, and the record, of which the copy has its own."""
        top = Path(folder) == source
        return {name for name in names if name.startswith(".") or (top and _own(name))}

    shutil.copytree(source, target, ignore=left, dirs_exist_ok=True)


def _own(name: str) -> bool:
    return name == RECORD or name.endswith(".part")


def _model(folder: Path, now: float) -> dict[Any, StoredFile]:
    """The model's file of a bundle as one that was brought, so that it can be converted anew."""
    source = folder / TASK / task_tables.MODEL
    if not source.is_file():
        return {}
    target = folder / f"model{KERAS}"
    shutil.copyfile(source, target)
    return {"model": StoredFile(source.name, KERAS, target.stat().st_size, file_sha256(target), now)}


def _size(folders: list[Path]) -> int:
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
