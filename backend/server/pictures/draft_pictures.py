"""Keeps the picture of a draft, which its task will have: beside the task file that a launch moves."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

from backend.errors import NotFoundError, RefusedFileError
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import TASK
from backend.server.pictures.picture_decoder import PictureDecoder
from backend.server.pictures.picture_files import (
    NOTHING_UPLOADED,
    PictureChoice,
    PictureKind,
    read_choice,
    read_uploaded,
    write_picture,
)
from backend.server.pictures.task_pictures import WEBP, PictureFile, ShownPicture
from backend.stores.error_translation import translated
from backend.translation import gettext, later

NO_FILE = later("No picture was uploaded for this draft.")


class DraftPictures:
    """Reads and changes the pictures of drafts; `drawn` is a wish, since data need not be shown."""

    def __init__(self, drafts: Drafts, decoder: PictureDecoder) -> None:
        self._drafts = drafts
        self._decoder = decoder

    def of(self, draft: Draft) -> ShownPicture:
        """Returns which picture the draft has; only an uploaded one has a tag."""
        choice = read_choice(self._folder(draft))
        if choice.kind == "uploaded" and choice.sha256:
            return ShownPicture("uploaded", choice.sha256, choice.text, True, True)
        kind: PictureKind = "woven" if choice.kind == "woven" else "drawn"
        return ShownPicture(kind, "", "", True, choice.sha256 != "")

    async def file(self, draft: Draft) -> PictureFile:
        """Returns the uploaded picture. Raises NotFoundError without one, or StoreError."""
        shown = self.of(draft)
        if shown.kind != "uploaded":
            raise NotFoundError(gettext(NO_FILE))
        content = await asyncio.to_thread(read_uploaded, self._folder(draft))
        return PictureFile(content, WEBP, shown.tag)

    async def choose(self, draft: Draft, kind: PictureKind | None, text: str | None) -> ShownPicture:
        """Chooses another picture, or another text. Raises RefusedFileError without a file, or StoreError."""
        before = read_choice(self._folder(draft))
        if kind == "uploaded" and not before.sha256:
            raise RefusedFileError(gettext(NOTHING_UPLOADED))
        after = PictureChoice(kind or before.kind, before.text if text is None else text, before.sha256)
        return await self._write(draft, after)

    async def upload(self, draft: Draft, content: bytes) -> ShownPicture:
        """Takes a PNG, JPEG or WebP as the draft's picture. Raises RefusedFileError, or StoreError."""
        made = await self._decoder.decoded(content)
        return await self._write(draft, PictureChoice("uploaded", "", sha256(made).hexdigest()), made)

    async def _write(self, draft: Draft, choice: PictureChoice, content: bytes | None = None) -> ShownPicture:
        self._drafts.check_exists(draft)
        folder = self._folder(draft)
        with translated("The draft's picture cannot be written"):
            await asyncio.to_thread(folder.mkdir, exist_ok=True)
        await asyncio.to_thread(write_picture, folder, choice, content)
        return self.of(draft)

    def _folder(self, draft: Draft) -> Path:
        return self._drafts.folder(draft) / TASK
