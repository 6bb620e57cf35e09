"""All drafts of a server, each a record and files in a folder of its own."""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import Callable
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
from backend.stores.error_translation import translated

log = structlog.stdlib.get_logger("minga.drafts")

MIB = 1 << 20
DAY_SECONDS = 86_400.0


class Drafts:
    """Owns the folder `root` and the records in it. `clock` gives the time of day (Unix seconds).

    Methods change a Draft on the event loop and `save` it; nothing that was saved is lost by a crash.
    """

    def __init__(self, root: Path, limits: DraftLimits, clock: Callable[[], float]) -> None:
        self.root, self.limits, self.clock = root, limits, clock
        self._known: dict[str, Draft] = {}
        # Bytes of each owner's launched tasks, as they were measured last.
        self.hosted: dict[str, int] = {}
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Reads the records; sweeps what a killed server left half made, and what is too old."""
        for folder in sorted(await asyncio.to_thread(_folders, self.root)):
            try:
                draft = await asyncio.to_thread(read_draft, folder)
            except MingaError as error:
                log.error("a draft was left out", draft=folder.name, reason=str(error))
                continue
            self._known[draft.id] = draft
            await asyncio.to_thread(_sweep, folder, draft)
        await self.forget_old()

    async def forget_old(self) -> None:
        """Deletes drafts that nobody changed for long, and uploads that nobody went on with."""
        now = self.clock()
        for draft in list(self._known.values()):
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
        """An owner's drafts, the newest first."""
        mine = [draft for draft in self._known.values() if draft.owner == owner]
        return sorted(mine, key=lambda draft: (-draft.created, draft.id))

    def all(self) -> list[Draft]:
        """Every draft."""
        return list(self._known.values())

    def get(self, name: str) -> Draft:
        """The draft of that id. Raises NotFoundError."""
        draft = self._known.get(check_id(name))
        if draft is None:
            raise NotFoundError("There is no such draft; your list of drafts has all that there are.")
        return draft

    def knows(self, draft: Draft) -> bool:
        """Whether the draft was not deleted or launched."""
        return draft.id in self._known

    async def create(self, owner: str, task: dict[str, Any], readme: str, onward: bool = False) -> Draft:
        """A new draft. Raises OverQuotaError where its owner has as many as one may."""
        if len(self.of(owner)) >= self.limits.max_drafts:
            raise OverQuotaError(
                f"You have {self.limits.max_drafts} drafts, as many as one may. "
                "Delete one that you do not need."
            )
        now = self.clock()
        draft = Draft(secrets.token_hex(8), owner, now, now, task, readme, onward)
        with translated(f"The folder {self.root} cannot be made"):
            self.folder(draft).mkdir(parents=True)
        self._known[draft.id] = draft
        await self.save(draft)
        return draft

    async def save(self, draft: Draft, touched: bool = True) -> None:
        """Writes the record as it is now."""
        if touched:
            draft.changed = self.clock()
        # In turn: of two records of one draft the later one stays.
        async with self._writing:
            if draft.id in self._known:
                await asyncio.to_thread(write_draft, self.folder(draft), draft)

    async def delete(self, draft: Draft) -> None:
        """Forgets a draft and deletes its files."""
        self._known.pop(draft.id, None)
        async with self._writing:
            await asyncio.to_thread(shutil.rmtree, self.folder(draft), True)

    def folder(self, draft: Draft) -> Path:
        """Where its files lie."""
        return self.root / draft.id

    def part(self, draft: Draft, kind: FileKind) -> Path:
        """The file that takes an upload."""
        return self.folder(draft) / f"{kind}.part"

    def file(self, draft: Draft, kind: FileKind) -> Path:
        """A file that is here whole. Raises NotFoundError where there is none."""
        stored = draft.files.get(kind)
        if stored is None:
            raise NotFoundError(f"This draft has no {kind} yet; bring one first.")
        return self.folder(draft) / f"{kind}{stored.suffix}"

    def taken(self, owner: str) -> int:
        """Bytes that an owner's drafts and tasks take, those to come included."""
        return self.hosted.get(owner, 0) + sum(
            sum(one.bytes for one in draft.uploads.values()) + sum(one.bytes for one in draft.files.values())
            for draft in self.of(owner)
        )

    def check_room(self, owner: str, size: int) -> None:
        """Raises OverQuotaError where `size` more bytes of an owner would be too much."""
        most = self.limits.max_owner_mib * MIB
        if self.taken(owner) + size > most:
            raise OverQuotaError(
                f"Your drafts and tasks would take over {self.limits.max_owner_mib} MiB, as much as one may. "
                "Delete a draft or a task that you do not need."
            )
        if shutil.disk_usage(self.root).free - size < self.limits.min_free_mib * MIB:
            raise OverQuotaError(
                "The server's disk is too full for this file. Tell who runs it, or take fewer data."
            )


def _folders(root: Path) -> list[Path]:
    with translated(f"The folder {root} cannot be made"):
        root.mkdir(parents=True, exist_ok=True)
        return [path.parent for path in root.glob(f"*/{RECORD}")]


def settle(folder: Path, draft: Draft) -> None:
    """Has the draft's files be what its record says: a whole upload gets its name, what is not named goes."""
    for kind, stored in draft.files.items():
        part = folder / f"{kind}.part"
        if kind not in draft.uploads and part.is_file() and part.stat().st_size == stored.bytes:
            part.replace(folder / f"{kind}{stored.suffix}")
    named = {f"{kind}.part" for kind in draft.uploads}
    named |= {f"{kind}{stored.suffix}" for kind, stored in draft.files.items()}
    for path in folder.iterdir():
        if path.name.partition(".")[0] in FILE_KINDS and path.name not in named:
            path.unlink()


def _sweep(folder: Path, draft: Draft) -> None:
    """Deletes what was being made when the server was killed."""
    with translated(f"The draft in {folder} cannot be swept"):
        settle(folder, draft)
        for path in folder.glob(".*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _modified(path: Path) -> float:
    return path.stat().st_mtime if path.is_file() else 0.0
