"""Stores the drafts of a server: each has a folder with its record and files."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from backend.errors import MingaError, NotFoundError, OverQuotaError
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import (
    FILE_KINDS,
    RECORD,
    Draft,
    FileKind,
    check_id,
    read_draft,
    write_draft,
)
from backend.server.sandbox.work_folder import remove_tree, tree_bytes
from backend.stores.error_translation import translated

log = structlog.stdlib.get_logger("minga.drafts")

MIB = 1 << 20
DAY_SECONDS = 86_400.0
_DISK_FULL = "The server's disk is too full for this. Tell its operator, or use less data."


class Drafts:
    """Owns the folder `root` and the drafts in it. `clock` gives Unix seconds.

    Methods change a Draft on the event loop and `save` it; a crash loses nothing that was saved.
    """

    def __init__(self, root: Path, limits: DraftLimits, clock: Callable[[], float]) -> None:
        self.root, self.limits, self.clock = root, limits, clock
        self._drafts: dict[str, Draft] = {}
        # Bytes of each owner's launched tasks, by the last measurement.
        self.hosted: dict[str, int] = {}
        # Bytes by draft: of what its jobs made, by the last measurement, and of what is being written now.
        self._made: dict[str, int] = {}
        self._being_written: dict[str, int] = {}
        # Bytes by draft that are about to be copied into it.
        self._reserved: Counter[str] = Counter()
        self._write_lock = asyncio.Lock()

    async def start(self) -> None:
        """Loads the records; deletes unfinished files that a killed server left, and what has expired."""
        for folder in sorted(await asyncio.to_thread(_folders, self.root)):
            try:
                draft = await asyncio.to_thread(read_draft, folder)
            except MingaError as error:
                log.error("a draft was left out", draft=folder.name, reason=str(error))
                continue
            self._drafts[draft.id] = draft
            await asyncio.to_thread(_sweep, folder, draft)
            await self.measure(draft)
        await self.forget_old()

    async def forget_old(self) -> None:
        """Deletes drafts unchanged for `draft_days`, and uploads without a new byte for `upload_days`."""
        now = self.clock()
        for draft in list(self._drafts.values()):
            if any(job.live for job in draft.jobs.values()):
                continue
            if now - draft.changed > self.limits.draft_days * DAY_SECONDS:
                await self.delete(draft)
                log.info("an old draft was deleted", draft=draft.id)
                continue
            for kind, upload in list(draft.uploads.items()):
                if (
                    now - max(upload.began, _modified(self.part(draft, kind)))
                    > self.limits.upload_days * DAY_SECONDS
                ):
                    del draft.uploads[kind]
                    self.part(draft, kind).unlink(missing_ok=True)
                    await self.save(draft, touched=False)

    def of(self, owner: str) -> list[Draft]:
        """Returns an owner's drafts, the newest first."""
        drafts = [draft for draft in self.all() if draft.owner == owner]
        return sorted(drafts, key=lambda draft: (-draft.created, draft.id))

    def all(self) -> list[Draft]:
        """Returns every draft."""
        return list(self._drafts.values())

    def get(self, name: str) -> Draft:
        """Returns the draft whose id is `name`. Raises NotFoundError."""
        draft = self._drafts.get(check_id(name))
        if draft is None:
            raise NotFoundError("There is no such draft; your list of drafts shows all you have.")
        return draft

    def exists(self, draft: Draft) -> bool:
        """Whether the draft still exists: it was neither deleted nor launched."""
        return draft.id in self._drafts

    def check_exists(self, draft: Draft) -> None:
        """Raises NotFoundError if the draft was deleted or launched while something was written into it."""
        if not self.exists(draft):
            raise NotFoundError("The draft was deleted in the meantime; this change was not saved.")

    async def create(
        self,
        owner: str,
        task: dict[str, Any],
        readme: str,
        onward: bool = False,
        owned: list[str] | None = None,
    ) -> Draft:
        """Creates a draft. Raises OverQuotaError if its owner has the maximum number of drafts."""
        if len(self.of(owner)) >= self.limits.max_drafts:
            raise OverQuotaError(
                f"You have {self.limits.max_drafts} drafts, the limit. Delete one that you do not need."
            )
        now = self.clock()
        draft = Draft(secrets.token_hex(8), owner, now, now, task, readme, onward, owned)
        with translated(f"The folder {self.root} cannot be made"):
            self.folder(draft).mkdir(parents=True)
        self._drafts[draft.id] = draft
        await self.save(draft)
        return draft

    async def save(self, draft: Draft, touched: bool = True) -> None:
        """Writes the draft's record; with `touched` its time of change is now."""
        if touched:
            draft.changed = self.clock()
        # Writes run one after another, so that the later of two records of a draft remains.
        async with self._write_lock:
            if draft.id in self._drafts:
                await asyncio.to_thread(write_draft, self.folder(draft), draft)

    async def delete(self, draft: Draft) -> None:
        """Deletes a draft and its files."""
        for table in (self._drafts, self._made, self._being_written):
            table.pop(draft.id, None)
        async with self._write_lock:
            with suppress(OSError):
                await asyncio.to_thread(remove_tree, self.folder(draft))

    def folder(self, draft: Draft) -> Path:
        """Returns the folder of the draft's files."""
        return self.root / draft.id

    def part(self, draft: Draft, kind: FileKind) -> Path:
        """Returns the file that receives an upload."""
        return self.folder(draft) / f"{kind}.part"

    def file(self, draft: Draft, kind: FileKind) -> Path:
        """Returns a complete file of the draft. Raises NotFoundError if there is none."""
        stored = draft.files.get(kind)
        if stored is None:
            raise NotFoundError(f"This draft has no {kind} yet; upload one first.")
        return self.folder(draft) / f"{kind}{stored.suffix}"

    def used_bytes(self, owner: str) -> int:
        """Returns the bytes of an owner's drafts and tasks.

        The announced size of uploads and what jobs made or are writing are included.
        """
        return self.hosted.get(owner, 0) + sum(map(self.draft_bytes, self.of(owner)))

    def draft_bytes(self, draft: Draft) -> int:
        """Returns the bytes of a draft: its uploads as announced, its files, what was made and is written."""
        # Jobs ask in their own threads: copies of the tables do not change under an iteration.
        uploads, files = list(draft.uploads.values()), list(draft.files.values())
        made = self._made.get(draft.id, 0) + self._being_written.get(draft.id, 0) + self._reserved[draft.id]
        return made + sum(upload.bytes for upload in uploads) + sum(file.bytes for file in files)

    async def measure(self, draft: Draft) -> None:
        """Measures what jobs made of the draft; what was being written counts as made or is gone."""
        try:
            made = await asyncio.to_thread(_made_bytes, self.folder(draft))
        except MingaError as error:
            log.error("a draft's files cannot be measured", draft=draft.id, reason=str(error))
            return
        self._being_written.pop(draft.id, None)
        if draft.id in self._drafts:
            self._made[draft.id] = made

    def count_written(self, draft: Draft, size: int) -> None:
        """Counts `size` bytes that are being written for the draft.

        Raises OverQuotaError without room, and NotFoundError once the draft was deleted: nobody counts them.
        """
        self.check_exists(draft)
        self._being_written[draft.id] = size
        self.check_room(draft.owner, 0)

    @contextmanager
    def reserved(self, draft: Draft, size: int) -> Iterator[None]:
        """Counts `size` bytes that are about to be copied into the draft, from their first byte to the exit.

        They count twice against the free space while they are copied. Raises OverQuotaError without room.
        """
        self.check_room(draft.owner, size)
        self._reserved[draft.id] += size
        try:
            yield
        finally:
            self._reserved[draft.id] -= size
            if not self._reserved[draft.id]:
                del self._reserved[draft.id]

    def room(self, owner: str) -> tuple[int, str]:
        """Returns how many more bytes an owner may write, and a sentence on what does not allow more."""
        quota = self.limits.max_owner_mib * MIB - self.used_bytes(owner)
        free = self._free()
        return (quota, self._over_quota()) if quota < free else (free, _DISK_FULL)

    def check_room(self, owner: str, size: int) -> None:
        """Raises OverQuotaError if `size` more bytes exceed the owner's quota or the disk's free space."""
        left, reason = self.room(owner)
        if size > left:
            raise OverQuotaError(reason)

    def check_free(self, size: int) -> None:
        """Raises OverQuotaError if `size` more bytes exceed the disk's free space."""
        if size > self._free():
            raise OverQuotaError(_DISK_FULL)

    def _free(self) -> int:
        """Returns the bytes that may still be written; copies will need the reserved ones."""
        kept = self.limits.min_free_mib * MIB + sum(list(self._reserved.values()))
        return shutil.disk_usage(self.root).free - kept

    def _over_quota(self) -> str:
        return (
            f"Your drafts and tasks would take over {self.limits.max_owner_mib} MiB, the limit. Delete a "
            f"draft or a task that you do not need, or use less data."
        )


def _folders(root: Path) -> list[Path]:
    with translated(f"The folder {root} cannot be made"):
        root.mkdir(parents=True, exist_ok=True)
        return [path.parent for path in root.glob(f"*/{RECORD}")]


def settle(folder: Path, draft: Draft) -> None:
    """Makes the draft's files match its record: renames complete uploads, deletes unrecorded files."""
    for kind, stored in draft.files.items():
        part = folder / f"{kind}.part"
        if kind not in draft.uploads and part.is_file() and part.stat().st_size == stored.bytes:
            part.replace(folder / f"{kind}{stored.suffix}")
    recorded = {f"{kind}.part" for kind in draft.uploads}
    recorded |= {f"{kind}{stored.suffix}" for kind, stored in draft.files.items()}
    for path in folder.iterdir():
        if path.name.partition(".")[0] in FILE_KINDS and path.name not in recorded:
            path.unlink()


def _sweep(folder: Path, draft: Draft) -> None:
    """Deletes what jobs were writing when the server was killed."""
    with translated(f"The draft in {folder} cannot be swept"):
        settle(folder, draft)
        for path in folder.glob(".*"):
            remove_tree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _made_bytes(folder: Path) -> int:
    """Measures all files of a draft but those of its owner. Raises BundleError."""
    return tree_bytes(folder, lambda path: path.name.partition(".")[0] not in FILE_KINDS)


def _modified(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0
