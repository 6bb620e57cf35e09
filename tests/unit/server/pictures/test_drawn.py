"""Pictures are drawn from the data of a task once, and without what cannot be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from backend.server.pictures import drawn
from backend.server.pictures.drawn import DrawnPictures, drawing_tag, public_shards
from backend.stores.embedded import Stores, open_stores
from tests.support.tasks.picture_task import BLUE, GREEN, RED, loaded, write_pictures
from tests.support.tasks.tiny_task import write_task


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


async def test_it_is_drawn_once_and_named_after_what_it_shows(tmp_path: Path, stores: Stores) -> None:
    task = await loaded(write_pictures(tmp_path / "one"), stores.blobs)
    other = await loaded(write_pictures(tmp_path / "two", [(RED, BLUE)]), stores.blobs)
    pictures = DrawnPictures(stores.blobs)
    content = await pictures.of(task)
    assert content is not None
    assert content is await pictures.of(task)
    assert content != await pictures.of(other)
    assert drawing_tag(task) == drawing_tag(task) != drawing_tag(other)


async def test_a_damaged_shard_is_left_out(tmp_path: Path, stores: Stores) -> None:
    task = await loaded(write_pictures(tmp_path / "tiny", [(RED, RED), (GREEN, GREEN)]), stores.blobs)
    whole = await DrawnPictures(stores.blobs).of(task)
    for shard in public_shards(task):
        path = await stores.blobs.path(shard.sha256)
        path.chmod(0o600)
        path.write_bytes(b"\xc1 no shard")
        part = await DrawnPictures(stores.blobs).of(task)
        assert part != whole
        whole = part
    assert whole is None


async def test_a_few_small_shards_from_all_over_the_data_are_read(
    tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = await loaded(write_pictures(tmp_path / "tiny", [(RED,)] * 40), stores.blobs)
    files = [shard.file for shard in public_shards(task)]
    assert (len(files), files[0], files[-1]) == (16, "t0.msgpack", "t37.msgpack")
    monkeypatch.setattr(drawn, "_LARGEST_SHARD", 1)
    assert public_shards(task) == []


async def test_numbers_without_a_shape_of_pictures_are_not_drawn(tmp_path: Path, stores: Stores) -> None:
    task = await loaded(write_task(tmp_path / "tiny"), stores.blobs)
    assert drawing_tag(task) is None
    assert await DrawnPictures(stores.blobs).of(task) is None


async def test_recordings_are_drawn_in_another_way_than_pictures(tmp_path: Path, stores: Stores) -> None:
    audio = (
        '{ kind = "audio", rate = 8000, seconds = 1.0, window = 256, hop = 128, bins = 4, classes = ["a"] }'
    )
    folder = write_pictures(tmp_path / "tiny", preprocess=audio)
    task, picture = await loaded(folder, stores.blobs), DrawnPictures(stores.blobs)
    shown = await loaded(write_pictures(tmp_path / "shown"), stores.blobs)
    assert await picture.of(task) not in (None, await picture.of(shown))
    assert drawing_tag(task) != drawing_tag(shown)
