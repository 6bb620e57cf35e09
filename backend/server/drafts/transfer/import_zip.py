"""Drafts that come as one zip or one task file, as another server, or this one, exported them."""

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
from backend.server.drafts.transfer.file_kinds import HEAD_BYTES, check_head, suffix_of
from backend.server.sandbox.data_inspection import unpack_draft
from backend.stores.error_translation import translated

README = "README.md"
# Begins with a dot: a start of the server sweeps what a killed one left.
_ARCHIVE, _PARTS = ".brought.zip", ".brought"
# For the texts, and what a zip says of its parts.
_ROOM = MIB


async def import_toml(drafts: Drafts, owner: str, content: bytes) -> Draft:
    """A draft of a task file alone. Raises TaskFileError or OverQuotaError."""
    return await drafts.create(owner, task_tables.from_bytes(content), "")


class ZipImporter:
    """Takes zips of drafts in, one of an owner at a time: what is on its way is in no quota yet."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._busy: set[str] = set()

    async def import_zip(self, owner: str, size: int | None, content: AsyncIterator[bytes]) -> Draft:
        """A draft of all that the zip holds, of `size` bytes, where that is known.

        Raises NotWantedError for a second one, OverQuotaError, TooLongError, and DataError, RefusedFileError
        or TaskFileError for what no draft may hold; nothing of it is kept then.
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
    most = {"model": limits.max_model_mib * MIB, "data": limits.max_data_mib * MIB}
    longest = sum(most.values()) + _ROOM
    if size is not None and size > longest:
        raise _too_long(longest)
    drafts.root.mkdir(parents=True, exist_ok=True)
    drafts.check_room(owner, size or 0)
    draft = await drafts.create(owner, task_tables.begin("brought", "A draft that did not come whole"), "")
    folder = drafts.folder(draft)
    try:
        await _receive(folder / _ARCHIVE, content, longest)
        parts = await asyncio.to_thread(
            unpack_draft, folder / _ARCHIVE, "the zip file", most, folder / _PARTS
        )
        await _take(drafts, draft, parts)
    except BaseException:
        await drafts.delete(draft)
        raise
    await drafts.save(draft)
    return draft


async def _receive(path: Path, content: AsyncIterator[bytes], longest: int) -> None:
    came = 0
    with translated("The zip file cannot be kept"), path.open("xb") as file:
        async for part in content:
            came += len(part)
            if came > longest:
                raise _too_long(longest)
            await asyncio.to_thread(file.write, part)


async def _take(drafts: Drafts, draft: Draft, parts: list[Path]) -> None:
    """Makes the parts the draft's own; who unpacked them may have been taken over, so nothing is believed."""
    folder = drafts.folder(draft)
    found = {path.name.partition(".")[0]: path for path in parts}
    if any(not stat.S_ISREG(path.lstat().st_mode) for path in parts) or "task" not in found:
        raise RefusedFileError("The zip file could not be taken apart; export the draft again.")
    drafts.check_room(draft.owner, sum(path.lstat().st_size for path in parts))
    draft.task = task_tables.from_bytes(_read(found["task"]))
    if "README" in found:
        draft.readme = _read(found["README"]).decode("utf-8", "replace")
    for kind in FILE_KINDS:
        if kind in found:
            draft.files[kind] = await asyncio.to_thread(_keep, folder, kind, found[kind], drafts.clock())
    (folder / _ARCHIVE).unlink()
    await asyncio.to_thread(shutil.rmtree, folder / _PARTS)


def _keep(folder: Path, kind: FileKind, path: Path, now: float) -> StoredFile:
    suffix = suffix_of(kind, path.name)
    with path.open("rb") as file:
        check_head(kind, path.name, file.read(HEAD_BYTES))
    path.replace(folder / f"{kind}{suffix}")
    kept = folder / f"{kind}{suffix}"
    return StoredFile(path.name, suffix, kept.stat().st_size, file_sha256(kept), now)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(task_tables.MAX_BYTES + 1)


def _too_long(longest: int) -> TooLongError:
    return TooLongError(
        f"A zip of a draft has at most {longest // MIB} MiB here. Export it without its data, and bring them "
        "in the step for data, where an upload may be cut off and go on."
    )
