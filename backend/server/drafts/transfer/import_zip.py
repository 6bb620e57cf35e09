"""Imports drafts from a zip or a task file that this or another server exported."""

from __future__ import annotations

import asyncio
import shutil
import stat
from collections.abc import AsyncIterator
from pathlib import Path

from backend.errors import NotWantedError, RefusedFileError, TooLongError
from backend.formats.file_hash import file_sha256
from backend.server.drafts import task_tables
from backend.server.drafts.draft_store import MIB, Drafts
from backend.server.drafts.record import FILE_KINDS, Draft, FileKind, StoredFile
from backend.server.drafts.transfer.file_kinds import HEAD_BYTES, check_head, clean_name, suffix_of
from backend.server.sandbox.data_inspection import unpack_draft
from backend.server.sandbox.limited_process import Supervision
from backend.stores.error_translation import translated

README = "README.md"
# They begin with a dot, so that the next start deletes what a killed server left.
_ZIP, _PARTS = ".brought.zip", ".brought"
# Bytes for the task file, the README and the zip's directory.
_OVERHEAD = MIB


async def import_toml(drafts: Drafts, owner: str, content: bytes) -> Draft:
    """Creates a draft from a task file alone. Raises TaskFileError or OverQuotaError."""
    return await drafts.create(owner, await asyncio.to_thread(task_tables.from_bytes, content), "")


class ZipImporter:
    """Imports zips of drafts, one per owner at a time, because an unfinished import is in no quota yet."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._busy: set[str] = set()

    async def import_zip(self, owner: str, size: int | None, content: AsyncIterator[bytes]) -> Draft:
        """Creates a draft from a zip of `size` bytes (None if unknown).

        Raises NotWantedError for a second concurrent import, OverQuotaError, TooLongError, and DataError,
        RefusedFileError or TaskFileError for invalid content; nothing of the zip is kept then.
        """
        if owner in self._busy:
            raise NotWantedError("Another zip of yours is being imported; wait until that is done.")
        self._busy.add(owner)
        try:
            return await _import(self._drafts, owner, size, content)
        finally:
            self._busy.discard(owner)


async def _import(drafts: Drafts, owner: str, size: int | None, content: AsyncIterator[bytes]) -> Draft:
    limits = drafts.limits
    limits_by_kind = {"model": limits.max_model_mib * MIB, "data": limits.max_data_mib * MIB}
    limit = sum(limits_by_kind.values()) + _OVERHEAD
    if size is not None and size > limit:
        raise _too_long(limit)
    drafts.root.mkdir(parents=True, exist_ok=True)
    drafts.check_room(owner, size or 0)
    draft = await drafts.create(owner, task_tables.begin("brought", "A draft that did not come whole"), "")
    folder = drafts.folder(draft)
    try:
        received = await _receive(drafts, draft, folder / _ZIP, content, limit)

        def room(written: int) -> None:
            drafts.count_written(draft, received + written)

        parts = await asyncio.to_thread(
            unpack_draft,
            folder / _ZIP,
            "the zip file",
            limits_by_kind,
            folder / _PARTS,
            Supervision(room=room),
        )
        await _take(drafts, draft, parts)
        await drafts.measure(draft)
        await drafts.save(draft)
    except BaseException:
        await drafts.delete(draft)
        raise
    return draft


async def _receive(
    drafts: Drafts, draft: Draft, path: Path, content: AsyncIterator[bytes], limit: int
) -> int:
    """Writes the zip, which counts to the owner's quota from its first byte; returns its length."""
    received = 0
    with translated("The zip file cannot be kept"), path.open("xb") as file:
        async for part in content:
            received += len(part)
            if received > limit:
                raise _too_long(limit)
            drafts.count_written(draft, received)
            await asyncio.to_thread(file.write, part)
    return received


async def _take(drafts: Drafts, draft: Draft, parts: list[Path]) -> None:
    """Moves the parts into the draft. Checks each: the unpacking process may have been compromised."""
    folder = drafts.folder(draft)
    by_name = {path.name.partition(".")[0]: path for path in parts}
    if any(not stat.S_ISREG(path.lstat().st_mode) for path in parts) or "task" not in by_name:
        raise RefusedFileError("The zip file could not be unpacked; export the draft again.")
    draft.task = await asyncio.to_thread(task_tables.from_bytes, _read(by_name["task"]))
    if "README" in by_name:
        draft.readme = _read(by_name["README"]).decode("utf-8", "replace")
    for kind in FILE_KINDS:
        if kind in by_name:
            draft.files[kind] = await asyncio.to_thread(_keep, folder, kind, by_name[kind], drafts.clock())
    (folder / _ZIP).unlink()
    await asyncio.to_thread(shutil.rmtree, folder / _PARTS)


def _keep(folder: Path, kind: FileKind, path: Path, now: float) -> StoredFile:
    name = clean_name(path.name)
    suffix = suffix_of(kind, name)
    with path.open("rb") as file:
        check_head(kind, name, file.read(HEAD_BYTES))
    path.replace(folder / f"{kind}{suffix}")
    stored = folder / f"{kind}{suffix}"
    return StoredFile(name, suffix, stored.stat().st_size, file_sha256(stored), now)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(task_tables.MAX_BYTES + 1)


def _too_long(limit: int) -> TooLongError:
    return TooLongError(
        f"A zip of a draft has at most {limit // MIB} MiB here. Export it without its data, and upload them "
        f"in the data step, where an interrupted upload can resume."
    )
