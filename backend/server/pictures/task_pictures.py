"""Keeps which picture each task has, beside its file: drawn from its data, uploaded, or woven."""

from __future__ import annotations

import asyncio
import io
import tempfile
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from backend.datasets.inspection.owner_picture import check_kind
from backend.errors import BundleError, DataError, NotFoundError, RefusedFileError
from backend.numerics.preprocess.image import Pixels
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.pictures.drawn import DrawnPictures, drawing_tag
from backend.server.sandbox.data_inspection import prepare_picture
from backend.stores.contracts import BlobStore
from backend.stores.error_translation import translated
from backend.translation import gettext, later

MAX_UPLOAD_BYTES = 5_000_000
CHOICE, UPLOADED = "picture.json", "picture.webp"
PNG, WEBP = "image/png", "image/webp"
NOTHING_DRAWN = later("Nothing can be drawn from this task's data. Upload a picture, or take the woven one.")
NOTHING_UPLOADED = later("No picture was uploaded for this task yet. Choose a file.")
WOVEN = later("This task has no picture but the pattern that is woven from its name.")
_MAX_FILE_BYTES, _MAX_CHOICE_BYTES = 2 << 20, 4 << 10
_QUALITY = 85

PictureKind: TypeAlias = Literal["drawn", "uploaded", "woven"]
AlternativeText: TypeAlias = Annotated[str, Meta(max_length=300)]


class PictureChoice(Struct, frozen=True):
    """What an owner chose; `sha256` is that of the uploaded file, if there is one."""

    kind: PictureKind | None = None
    text: AlternativeText = ""
    sha256: str = ""


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

    def __init__(self, registry: TaskRegistry, blobs: BlobStore) -> None:
        self._registry = registry
        self._drawn = DrawnPictures(blobs)
        # One process decodes at a time.
        self._decoding = asyncio.Lock()

    def of(self, name: str) -> ShownPicture:
        """Returns which picture the task has; without a choice it is drawn if it can be. NotFoundError."""
        choice = _choice(self._registry.folder(name) / CHOICE)
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
            path = self._registry.folder(name) / UPLOADED
            with translated("The task's picture cannot be read"):
                content = await asyncio.to_thread(_read, path)
            return PictureFile(content, WEBP, shown.tag)
        raise NotFoundError(gettext(WOVEN))

    async def choose(self, name: str, kind: PictureKind | None, text: str | None) -> ShownPicture:
        """Chooses another picture, or another text for the uploaded one.

        Raises RefusedFileError if there is no such picture, OrderError for a launched task, or StoreError.
        """
        async with self._registry.lifecycle(name).in_private_test():
            shown = self.of(name)
            if kind == "drawn" and not shown.drawable:
                raise RefusedFileError(gettext(NOTHING_DRAWN))
            if kind == "uploaded" and not shown.uploaded:
                raise RefusedFileError(gettext(NOTHING_UPLOADED))
            before = _choice(self._registry.folder(name) / CHOICE)
            after = PictureChoice(
                before.kind if kind is None else kind, before.text if text is None else text, before.sha256
            )
            await self._store(name, after, None)
        return self.of(name)

    async def upload(self, name: str, content: bytes) -> ShownPicture:
        """Takes a PNG, JPEG or WebP as the task's picture; the text of an earlier one goes.

        Raises RefusedFileError with what to do, OrderError for a launched task, or StoreError.
        """
        life = self._registry.lifecycle(name)
        async with life.in_private_test():
            pass  # Before the work of decoding; below it is checked again.
        try:
            check_kind(content)
            async with self._decoding:
                made = await asyncio.to_thread(_prepared, content)
        except (DataError, BundleError) as error:
            raise RefusedFileError(gettext(str(error))) from error
        async with life.in_private_test():
            await self._store(name, PictureChoice("uploaded", "", sha256(made).hexdigest()), made)
        return self.of(name)

    async def _store(self, name: str, choice: PictureChoice, content: bytes | None) -> None:
        folder = self._registry.folder(name)
        with translated("The task's picture cannot be written"):
            # A server that is killed between the two shows the new picture under the old tag.
            if content is not None:
                await asyncio.to_thread(_replace, folder / UPLOADED, content)
            await asyncio.to_thread(_replace, folder / CHOICE, msgspec.json.encode(choice))


def _prepared(content: bytes) -> bytes:
    """Returns an uploaded picture as a small WebP: its pixels alone, which a confined process read."""
    with tempfile.TemporaryDirectory(prefix="minga-picture-") as home:
        data = Path(home) / "picture"
        data.write_bytes(content)
        return _webp(prepare_picture(data, Path(home) / "made"))


def _webp(pixels: Pixels) -> bytes:
    from PIL import Image as Pillow

    picture = Pillow.fromarray(pixels)
    written = io.BytesIO()
    picture.save(written, "WEBP", quality=_QUALITY)
    return written.getvalue()


def _choice(path: Path) -> PictureChoice:
    """Reads the choice; none where there is no file, or one that nobody can read."""
    try:
        state = path.stat()
        return _decoded_choice(path, state.st_mtime_ns, state.st_size)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return PictureChoice()


@lru_cache(maxsize=256)
def _decoded_choice(path: Path, _modified: int, size: int) -> PictureChoice:
    if size > _MAX_CHOICE_BYTES:
        return PictureChoice()
    return msgspec.json.decode(path.read_bytes(), type=PictureChoice)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_MAX_FILE_BYTES)


def _replace(path: Path, content: bytes) -> None:
    """Writes the file in one step, so that a killed server leaves the old or the new one."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)
