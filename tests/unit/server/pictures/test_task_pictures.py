"""Owners choose the picture of a task in a private test, and it stays when the task is launched."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image

from backend.datasets.inspection import owner_picture
from backend.errors import NotFoundError, OrderError, RefusedFileError
from backend.numerics.preprocess.image import Pixels
from backend.protocols.tasks.task_life import Life, LifeState
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.transfer.copies import copy_task
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.pictures import picture_decoder
from backend.server.pictures.picture_decoder import PictureDecoder
from backend.server.pictures.picture_files import PictureKind
from backend.server.pictures.task_pictures import TaskPictures
from backend.stores.embedded import open_stores
from tests.support.tasks.owner_files import png
from tests.support.tasks.picture_task import write_pictures
from tests.support.tasks.tiny_task import write_task

OPS = Path(__file__).parents[4] / "converter" / "ops.json"
TASKS = ("drawable", "numbers", "launched")


@pytest_asyncio.fixture
async def pictures(tmp_path: Path) -> AsyncIterator[TaskPictures]:
    folder = tmp_path / "tasks"
    write_pictures(folder / "drawable", held_out=())
    write_task(folder / "numbers")
    write_pictures(folder / "launched", held_out=())
    stores = open_stores(tmp_path / "data")
    for name in TASKS[:2]:
        await stores.lives.set_life(name, Life(LifeState.TEST, running=LifeState.TEST))
    registry = TaskRegistry(stores, OPS)
    await registry.start([folder], [])
    yield TaskPictures(registry, stores.blobs, PictureDecoder())
    await registry.stop()
    await stores.close()


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are decoded without a process; tests/unit/datasets/inspection has the one with it."""

    def decoded(data: Path, _output: Path) -> Pixels:
        return owner_picture.prepare_picture(data.read_bytes())

    monkeypatch.setattr(picture_decoder, "prepare_picture", decoded)


async def test_a_task_without_a_choice_shows_its_data_if_it_can(pictures: TaskPictures) -> None:
    shown = pictures.of("drawable")
    assert (shown.kind, shown.drawable, shown.uploaded) == ("drawn", True, False)
    file = await pictures.file("drawable")
    assert (file.media_type, file.tag) == ("image/png", shown.tag)
    assert (pictures.of("numbers").kind, pictures.of("numbers").tag) == ("woven", "")
    with pytest.raises(NotFoundError, match="woven from its name"):
        await pictures.file("numbers")


@pytest.mark.usefixtures("in_this_process")
async def test_an_uploaded_picture_is_encoded_again_without_what_it_told(pictures: TaskPictures) -> None:
    photo, exif = Image.new("RGB", (900, 300), (0, 250, 0)), Image.Exif()
    exif[0x010E] = "at home, Elm Street 5"
    content = io.BytesIO()
    photo.save(content, "JPEG", exif=exif, comment=b"secret comment")
    assert b"Elm Street" in content.getvalue()
    shown = await pictures.upload("numbers", content.getvalue())
    assert (shown.kind, shown.text, shown.drawable, shown.uploaded) == ("uploaded", "", False, True)
    file = await pictures.file("numbers")
    assert (file.media_type, file.tag) == ("image/webp", shown.tag)
    assert b"Elm" not in file.content
    assert b"secret" not in file.content
    with Image.open(io.BytesIO(file.content)) as read:
        assert (read.format, read.size, dict(read.getexif())) == ("WEBP", (640, 213), {})


@pytest.mark.usefixtures("in_this_process")
async def test_the_choice_is_kept_and_can_be_changed_back(pictures: TaskPictures) -> None:
    drawn = pictures.of("drawable")
    uploaded = await pictures.upload("drawable", png())
    told = await pictures.choose("drawable", None, "A cat.")
    assert (told.kind, told.text, told.tag) == ("uploaded", "A cat.", uploaded.tag)
    assert (await pictures.choose("drawable", "woven", None)).kind == "woven"
    assert await pictures.choose("drawable", "drawn", None) == type(drawn)("drawn", drawn.tag, "", True, True)
    assert await pictures.choose("drawable", "uploaded", None) == told
    # The text was about the earlier picture.
    assert (await pictures.upload("drawable", png(seed=1))).text == ""


async def test_a_picture_that_does_not_exist_cannot_be_chosen(pictures: TaskPictures) -> None:
    asked: list[tuple[str, PictureKind, str]] = [
        ("numbers", "drawn", "Upload a picture"),
        ("numbers", "uploaded", "Choose a file"),
    ]
    for name, kind, remedy in asked:
        with pytest.raises(RefusedFileError, match=remedy):
            await pictures.choose(name, kind, None)
    assert pictures.of("numbers").kind == "woven"


async def test_a_file_that_is_no_picture_is_refused_before_a_process_reads_it(
    pictures: TaskPictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(picture_decoder, "prepare_picture")
    for content, remedy in ((b"<svg/>", "Export it as PNG"), (b"GIF89a", "no PNG, JPEG or WebP")):
        with pytest.raises(RefusedFileError, match=remedy):
            await pictures.upload("drawable", content)


async def test_the_picture_of_a_launched_task_stays(pictures: TaskPictures) -> None:
    with pytest.raises(OrderError, match="launched"):
        await pictures.choose("launched", "woven", None)
    with pytest.raises(OrderError, match="launched"):
        await pictures.upload("launched", png())
    assert pictures.of("launched").kind == "drawn"


async def test_a_choice_that_cannot_be_read_is_none(pictures: TaskPictures, tmp_path: Path) -> None:
    for content in (b"{", b'{"kind": "x"}', b"[]", b'{"kind": "uploaded"}', b" " * 5000 + b"{}"):
        (tmp_path / "tasks" / "drawable" / "picture.json").write_bytes(content)
        assert pictures.of("drawable").kind == "drawn"


@pytest.mark.usefixtures("in_this_process")
async def test_a_new_version_of_a_task_begins_with_its_picture(
    pictures: TaskPictures, tmp_path: Path
) -> None:
    await pictures.upload("drawable", png())
    await pictures.choose("drawable", None, "A cat.")
    drafts = Drafts(tmp_path / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await drafts.start()
    for name, files in (("drawable", {"picture.json", "picture.webp"}), ("numbers", set[str]())):
        source = tmp_path / "tasks" / name
        draft = await copy_task(drafts, source, "a" * 16, f"{name}-2")
        copied = drafts.folder(draft) / "task"
        assert {path.name for path in copied.glob("picture*")} == files
        for file in files:
            assert (copied / file).read_bytes() == (source / file).read_bytes()
