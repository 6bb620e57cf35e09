"""A disk that is full in the middle of an upload costs a sentence and a pause, but no byte."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from backend.errors import OverQuotaError, StoreError
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.transfer import uploads
from backend.server.drafts.transfer.uploads import DraftUploads
from tests.unit.server.drafts.transfer.test_uploads import keras_file, opened, pieces

SENTENCE = (
    "The server's disk is full. {} of {} bytes of m.keras arrived and are kept. Tell the server's operator; "
    "then choose the same file again, and the upload continues."
)


async def test_a_disk_that_fills_up_keeps_what_arrived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    draft = await drafts.create("ana", {}, "")
    receiver = DraftUploads(drafts)
    await receiver.begin(draft, "model", "m.keras", len(content), None)
    flush = uploads._flush

    def full(file: Any) -> None:
        flush(file)
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(uploads, "_flush", full)
        with pytest.raises(OverQuotaError) as told:
            await receiver.append(draft, "model", 0, pieces(content[:1000]))
    assert str(told.value) == SENTENCE.format("1,000", f"{len(content):,}")
    offset = receiver.offset(draft, "model")
    assert await receiver.append(draft, "model", offset, pieces(content[offset:])) == len(content)
    assert drafts.file(draft, "model").read_bytes() == content


async def test_the_reserve_of_the_disk_stops_an_upload_with_the_same_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    draft = await drafts.create("ana", {}, "")
    receiver = DraftUploads(drafts)
    await receiver.begin(draft, "model", "m.keras", len(content), None)
    await receiver.append(draft, "model", 0, pieces(content[:500]))
    with monkeypatch.context() as patch:
        patch.setattr(Drafts, "_free", lambda _: 0)
        with pytest.raises(OverQuotaError) as told:
            await receiver.append(draft, "model", 500, pieces(content[500:]))
    assert str(told.value) == SENTENCE.format("500", f"{len(content):,}")
    await receiver.append(draft, "model", 500, pieces(content[500:]))
    assert drafts.file(draft, "model").read_bytes() == content


async def test_a_file_that_is_whole_is_kept_once_it_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts, content = await opened(tmp_path), keras_file()
    draft = await drafts.create("ana", {}, "")
    receiver = DraftUploads(drafts)
    await receiver.begin(draft, "model", "m.keras", len(content), None)

    async def full(*_: Any) -> None:
        raise StoreError("The draft cannot be written: the disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(drafts, "save", full)
        with pytest.raises(OverQuotaError):
            await receiver.append(draft, "model", 0, pieces(content))
    assert (draft.files, receiver.offset(draft, "model")) == ({}, len(content))
    assert await receiver.keep_whole(draft)
    assert drafts.file(draft, "model").read_bytes() == content
