"""Keeps which picture each task has, beside its file: drawn from its data, uploaded, or woven."""

from __future__ import annotations

import asyncio
from hashlib import sha256

from msgspec import Struct

from backend.errors import NotFoundError, RefusedFileError
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.pictures.drawn import DrawnPictures, drawing_tag
from backend.server.pictures.picture_decoder import PictureDecoder
from backend.server.pictures.picture_files import (
    NOTHING_UPLOADED,
    PictureChoice,
    PictureKind,
    read_choice,
    read_uploaded,
    write_picture,
)
from backend.stores.contracts import BlobStore
from backend.translation import gettext, later

PNG, WEBP = "image/png", "image/webp"
NOTHING_DRAWN = later("Nothing can be drawn from this task's data. Upload a picture, or take the woven one.")
WOVEN = later("This task has no picture but the pattern that is woven from its name.")


class ShownPicture(Struct, frozen=True):
    """The picture that pages show. `tag` changes with it and is empty if it is woven.

    `text` says what is on an uploaded picture to those who do not see it. `drawable` says whether a picture
    can be drawn from the data, `uploaded` whether there is a file.
    """

    kind: PictureKind
    tag: str = ""
    text: str = ""
    drawable: bool = False
    uploaded: bool = False


class PictureFile(Struct, frozen=True):
    """The bytes of a picture; `tag` is the ShownPicture's."""

    content: bytes
    media_type: str
    tag: str


class TaskPictures:
    """Reads and changes the pictures of tasks. An owner changes one while its task is in a private test."""

    def __init__(self, registry: TaskRegistry, blobs: BlobStore, decoder: PictureDecoder) -> None:
        self._registry = registry
        self._drawn = DrawnPictures(blobs)
        self._decoder = decoder

    def of(self, name: str) -> ShownPicture:
        """Returns which picture the task has; without a choice it is drawn if it can be. NotFoundError."""
        choice = read_choice(self._registry.task(name).folder)
        drawn = drawing_tag(self._registry.host(name).task)
        can = (drawn is not None, choice.sha256 != "")
        if choice.kind == "uploaded" and choice.sha256:
            return ShownPicture("uploaded", choice.sha256, choice.text, *can)
        if choice.kind == "woven" or drawn is None:
            return ShownPicture("woven", "", "", *can)
        return ShownPicture("drawn", drawn, "", *can)

    async def file(self, name: str) -> PictureFile:
        """Returns the task's picture. Raises NotFoundError if it is woven, or StoreError."""
        shown = self.of(name)
        if shown.kind == "drawn":
            content = await self._drawn.of(self._registry.host(name).task)
            if content is not None:
                return PictureFile(content, PNG, shown.tag)
        if shown.kind == "uploaded":
            content = await asyncio.to_thread(read_uploaded, self._registry.task(name).folder)
            return PictureFile(content, WEBP, shown.tag)
        raise NotFoundError(gettext(WOVEN))

    async def choose(self, name: str, kind: PictureKind | None, text: str | None) -> ShownPicture:
        """Chooses another picture, or another text for the uploaded one.

        Raises RefusedFileError if there is no such picture, OrderError for a launched task, or StoreError.
        """
        async with self._registry.task(name).lifecycle.in_private_test():
            shown = self.of(name)
            if kind == "drawn" and not shown.drawable:
                raise RefusedFileError(gettext(NOTHING_DRAWN))
            if kind == "uploaded" and not shown.uploaded:
                raise RefusedFileError(gettext(NOTHING_UPLOADED))
            before = read_choice(self._registry.task(name).folder)
            after = PictureChoice(
                before.kind if kind is None else kind, before.text if text is None else text, before.sha256
            )
            await asyncio.to_thread(write_picture, self._registry.task(name).folder, after)
        return self.of(name)

    async def upload(self, name: str, content: bytes) -> ShownPicture:
        """Takes a PNG, JPEG or WebP as the task's picture; the text of an earlier one goes.

        Raises RefusedFileError with what to do, OrderError for a launched task, or StoreError.
        """
        life = self._registry.task(name).lifecycle
        async with life.in_private_test():
            pass  # Before the work of decoding; below it is checked again.
        made = await self._decoder.decoded(content)
        async with life.in_private_test():
            choice = PictureChoice("uploaded", "", sha256(made).hexdigest())
            await asyncio.to_thread(write_picture, self._registry.task(name).folder, choice, made)
        return self.of(name)
