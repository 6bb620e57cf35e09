"""Owners choose the picture of a draft, whose task then has it."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio

from backend.datasets.inspection import owner_picture
from backend.errors import NotFoundError, RefusedFileError
from backend.numerics.preprocess.image import Pixels
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.limits import DraftLimits
from backend.server.drafts.record import Draft
from backend.server.drafts.task_tables import begin
from backend.server.pictures import picture_decoder
from backend.server.pictures.draft_pictures import DraftPictures
from backend.server.pictures.picture_decoder import PictureDecoder
from backend.server.pictures.picture_files import read_choice
from tests.support.tasks.owner_files import png


@pytest_asyncio.fixture
async def drafts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drafts:
    """Pictures are decoded without a process; tests/unit/datasets/inspection has the one with it."""

    def decoded(data: Path, _output: Path) -> Pixels:
        return owner_picture.prepare_picture(data.read_bytes())

    monkeypatch.setattr(picture_decoder, "prepare_picture", decoded)
    store = Drafts(tmp_path / "drafts", DraftLimits(min_free_mib=1), lambda: 1.0)
    await store.start()
    return store


@pytest_asyncio.fixture
async def draft(drafts: Drafts) -> Draft:
    return await drafts.create("a" * 16, begin("birds", "Birds"), "")


async def test_a_draft_wishes_for_a_drawn_picture_until_its_owner_chooses(
    drafts: Drafts, draft: Draft
) -> None:
    pictures = DraftPictures(drafts, PictureDecoder())
    assert (pictures.of(draft).kind, pictures.of(draft).uploaded) == ("drawn", False)
    with pytest.raises(NotFoundError, match="No picture was uploaded"):
        await pictures.file(draft)
    with pytest.raises(RefusedFileError, match="Choose a file"):
        await pictures.choose(draft, "uploaded", None)
    assert (await pictures.choose(draft, "woven", None)).kind == "woven"


async def test_an_uploaded_picture_lies_where_a_launch_finds_it(drafts: Drafts, draft: Draft) -> None:
    pictures = DraftPictures(drafts, PictureDecoder())
    shown = await pictures.upload(draft, png())
    told = await pictures.choose(draft, None, "A finch.")
    assert (told.kind, told.text, told.tag) == ("uploaded", "A finch.", shown.tag)
    assert (await pictures.file(draft)).content[8:12] == b"WEBP"
    choice = read_choice(drafts.folder(draft) / "task")
    assert (choice.kind, choice.sha256) == ("uploaded", shown.tag)
    assert (await pictures.choose(draft, "drawn", None)).uploaded
    with pytest.raises(RefusedFileError, match="no PNG, JPEG or WebP"):
        await pictures.upload(draft, b"GIF89a")


async def test_a_draft_that_was_deleted_gets_no_picture(drafts: Drafts, draft: Draft) -> None:
    await drafts.delete(draft)
    with pytest.raises(NotFoundError, match="deleted in the meantime"):
        await DraftPictures(drafts, PictureDecoder()).choose(draft, "woven", None)
    assert not drafts.folder(draft).exists()
