"""Copies drafts and launched tasks into new drafts, with their model and data."""

from __future__ import annotations

import asyncio
import copy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backend.errors import NotWantedError
from backend.formats.file_hash import file_sha256
from backend.formats.task_file.reading.plan_changes import ChangedValue, apply_changes
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.record import RECORD, Draft, DraftJob, JobKind, JobLine, StoredFile
from backend.server.drafts.review.checklist import MADE, TASK, fingerprint
from backend.server.drafts.review.comparison import read_text
from backend.server.drafts.transfer.forked_weights import ForkedWeights, replace_weights
from backend.server.pictures.picture_files import UPLOADED, copy_picture
from backend.stores.error_translation import translated

KERAS = ".keras"


async def copy_draft(drafts: Drafts, of: Draft, owner: str, name: str) -> Draft:
    """Copies the draft `of` into a new draft, without its unfinished uploads.

    Raises OverQuotaError, NotWantedError while a job of `of` waits or runs, or if `of` changes meanwhile, and
    NotFoundError if the copy is deleted meanwhile.
    """
    if any(job.live for kind, job in of.jobs.items() if kind != "forecast"):
        raise NotWantedError("A job of this draft is running; wait for it or cancel it, then copy the draft.")
    files, jobs, tried = copy.deepcopy((of.files, _copied_jobs(of), of.tried))
    size = drafts.draft_bytes(of)
    drafts.check_room(owner, size)
    new = await drafts.create(owner, {**copy.deepcopy(of.task), "name": name}, of.readme)
    try:
        with drafts.reserved(new, size), translated("The draft cannot be copied"):
            await asyncio.to_thread(_copy_all, drafts.folder(of), drafts.folder(new))
            drafts.check_exists(new)
            if (of.files, {kind: of.jobs.get(kind) for kind in jobs}) != (files, jobs):
                raise NotWantedError("The draft was changed while it was copied; copy it again.")
            new.files, new.jobs, new.tried, new.starter = files, jobs, tried, of.starter
            new.owned, new.declared, new.derived = copy.deepcopy((of.owned, of.declared, of.derived))
            await drafts.measure(new)
        await drafts.save(new)
    except BaseException:
        await drafts.delete(new)
        raise
    return new


async def copy_task(
    drafts: Drafts,
    folder: Path,
    owner: str,
    name: str,
    changes: Sequence[ChangedValue] = (),
    fork: ForkedWeights | None = None,
) -> Draft:
    """Creates a draft of a new version of the task in `folder`: its model, shards, files and picture.

    `changes` are those of its plan since its launch. With `fork` its version 0 has the weights of a version
    of that task.

    Raises OverQuotaError, or TaskFileError if the task file has entries that drafts may not have.
    """
    tables = await asyncio.to_thread(task_tables.read_tables, folder / task_tables.WHERE)
    readme = await asyncio.to_thread(read_text, folder)
    apply_changes(tables, changes)
    if fork is not None:
        readme = f"{readme.rstrip()}\n\n{fork.origin}\n".lstrip()
    source_name = str(tables["name"])
    # Only the operator may run programs on the server, so hooks are not copied.
    tables.pop("hooks", None)
    parts: dict[JobKind, Path] = {"convert": folder / str(tables["model"]["bundle"])}
    if tables["data"].get("source") == "shards":
        parts["cut"] = folder / str(tables["data"]["shards"])
    # Its model is kept twice: in the bundle, and as if it had been uploaded.
    parts_and_files = [*parts.values(), parts["convert"] / Path(task_tables.MODEL).name, folder / UPLOADED]
    size = await asyncio.to_thread(_size, parts_and_files)
    drafts.check_room(owner, size)
    new = await drafts.create(
        owner, task_tables.fixed({**tables, "name": name, "follows": source_name}), readme
    )
    try:
        with drafts.reserved(new, size), translated("The task cannot be copied"):
            for kind, source in parts.items():
                await asyncio.to_thread(shutil.copytree, source, drafts.folder(new) / MADE[kind])
            await asyncio.to_thread(copy_picture, folder, drafts.folder(new) / TASK)
            if fork is not None:
                await asyncio.to_thread(replace_weights, drafts.folder(new) / MADE["convert"], fork)
            if fork is None or fork.keras is not None:
                # A model file with other weights would replace the version's at the next conversion.
                new.files |= await asyncio.to_thread(_model, drafts.folder(new), drafts.clock())
            drafts.check_exists(new)
            await drafts.measure(new)
        # The conversion comes first, because the fingerprint of the cut depends on it.
        for kind in parts:
            new.jobs[kind] = _done(new, kind, source_name, drafts.clock())
        await drafts.save(new)
    except BaseException:
        await drafts.delete(new)
        raise
    return new


def _copied_jobs(of: Draft) -> dict[JobKind, DraftJob]:
    """Returns the jobs whose results are copied; a forecast, for which no copy waits, is made again."""
    return {kind: job for kind, job in of.jobs.items() if kind != "forecast"}


def _done(draft: Draft, kind: JobKind, source_name: str, now: float) -> DraftJob:
    line = JobLine(now, f"Taken over from '{source_name}'.")
    return DraftJob("done", fingerprint(draft, kind), now, now, [line])


def _copy_all(source: Path, target: Path) -> None:
    def ignored(folder: str, names: list[str]) -> set[str]:
        """Returns unfinished files, and the record, because the copy has its own."""
        top = Path(folder) == source
        return {name for name in names if name.startswith(".") or (top and _not_copied(name))}

    shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)


def _not_copied(name: str) -> bool:
    return name == RECORD or name.endswith(".part")


def _model(folder: Path, now: float) -> dict[Any, StoredFile]:
    """Copies the bundle's model file as if it had been uploaded, so that it can be converted again."""
    source = folder / TASK / task_tables.MODEL
    if not source.is_file():
        return {}
    target = folder / f"model{KERAS}"
    shutil.copyfile(source, target)
    return {"model": StoredFile(source.name, KERAS, target.stat().st_size, file_sha256(target), now)}


def _size(folders: list[Path]) -> int:
    files = (path for folder in folders for path in (folder, *folder.rglob("*")) if path.is_file())
    return sum(path.stat().st_size for path in files)
