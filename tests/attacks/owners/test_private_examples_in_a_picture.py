"""A task's page shows private examples: volunteers' own, held-out ones, recognisable people."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from PIL import Image

from backend.server.pictures.drawn import DrawnPictures, drawing_tag, public_shards
from backend.server.pictures.mosaic import LINES
from backend.stores.embedded import Stores, open_stores
from tests.support.tasks.picture_task import BLUE, GREEN, RED, loaded, volunteers_own, write_pictures


@pytest_asyncio.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_stores(tmp_path / "data")
    yield opened
    await opened.close()


async def test_held_out_examples_are_never_drawn(tmp_path: Path, stores: Stores) -> None:
    task = await loaded(write_pictures(tmp_path / "tiny"), stores.blobs)
    assert {shard.file for shard in public_shards(task)} == {"t0.msgpack", "t1.msgpack"}
    content = await DrawnPictures(stores.blobs).of(task)
    assert content is not None
    with Image.open(io.BytesIO(content)) as picture:
        shown = {tuple(pixel) for pixel in np.asarray(picture).reshape(-1, 3).tolist()}
    assert shown == {RED, GREEN, LINES}
    assert BLUE not in shown


async def test_nothing_of_volunteers_own_data_is_drawn(tmp_path: Path, stores: Stores) -> None:
    folder = write_pictures(tmp_path / "tiny")
    volunteers_own(folder)
    task = await loaded(folder, stores.blobs)
    assert (folder / "shards" / "t0.msgpack").exists()
    assert drawing_tag(task) is None
    assert await DrawnPictures(stores.blobs).of(task) is None


@pytest.mark.parametrize("answer", [{"people": "recognisable"}, {"people": "anonymous", "sensitive": True}])
async def test_people_are_not_shown_to_those_who_do_not_take_part(
    tmp_path: Path, stores: Stores, answer: dict[str, str | bool]
) -> None:
    task = await loaded(write_pictures(tmp_path / "tiny", ethics=answer), stores.blobs)
    assert await DrawnPictures(stores.blobs).of(task) is None
    assert drawing_tag(task) is None


@pytest.mark.parametrize(
    "preprocess",
    [
        '{ kind = "table", columns = [{ name = "x", kind = "number" }], '
        'labels = [{ name = "y", kind = "class", classes = ["0", "1"] }] }',
        '{ kind = "text", tokenizer = "bytes", length = 8 }',
    ],
)
async def test_rows_and_texts_are_not_drawn_whatever_their_arrays_look_like(
    tmp_path: Path, stores: Stores, preprocess: str
) -> None:
    folder = write_pictures(tmp_path / "tiny", preprocess=preprocess)
    task = await loaded(folder, stores.blobs)
    assert drawing_tag(task) is None
