"""A mosaic shows examples of all classes in turn, and its PNG is one that others read."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from backend.formats.shard_file import RawShard
from backend.server.pictures.mosaic import (
    COLUMNS,
    EXAMPLES,
    HEIGHT,
    ROWS,
    TILE,
    WIDTH,
    is_picture,
    mosaic,
    png,
)


def shard(x: NDArray[Any], classes: Sequence[float] | NDArray[Any]) -> RawShard:
    return RawShard((x,), (np.asarray(classes),), np.ones(len(x), np.float32))


def flat(levels: Sequence[int], side: int = 4, channels: int = 1) -> NDArray[np.uint8]:
    """Returns a picture of one level for each of `levels`."""
    values = np.array(levels, np.uint8)[:, None, None, None]
    return np.broadcast_to(values, (len(levels), side, side, channels))


def middles(pixels: NDArray[np.uint8]) -> list[int]:
    """Returns the red of the middle of each tile."""
    half = TILE // 2
    return [int(pixels[y * TILE + half, x * TILE + half, 0]) for y in range(ROWS) for x in range(COLUMNS)]


def test_classes_take_turns_whatever_the_order_of_the_shards() -> None:
    first, second = shard(flat([20, 21, 22]), [2, 2, 2]), shard(flat([10, 11]), [1, 1])
    pixels = mosaic([first, second], levels=True)
    assert pixels is not None
    assert pixels.shape == (HEIGHT, WIDTH, 3)
    assert middles(pixels) == [10, 20, 11, 21, 22] * 3


def test_every_kind_of_label_tells_classes_apart() -> None:
    for labels in ([[1.0, 0.0], [0.0, 1.0]], [[0.0], [1.0]], [0, 1]):
        pixels = mosaic([shard(flat([7, 9]), np.array(labels))], levels=True)
        assert pixels is not None
        assert middles(pixels)[:2] == [7, 9]
    without = RawShard((flat([5]),), (), np.ones(1, np.float32))
    pixels = mosaic([without], levels=True)
    assert pixels is not None
    assert middles(pixels) == [5] * EXAMPLES


def test_there_is_no_mosaic_of_nothing() -> None:
    assert mosaic([], levels=True) is None
    assert mosaic([shard(flat([]), [])], levels=True) is None


def test_numbers_are_stretched_from_black_to_white() -> None:
    values = np.linspace(-3, 5, 64, dtype=np.float32).reshape(1, 8, 8, 1)
    pixels = mosaic([shard(values, [0])], levels=False)
    assert pixels is not None
    assert (int(pixels.min()), int(pixels.max())) == (0, 255)
    for odd in (np.full((1, 8, 8, 1), np.nan, np.float32), np.full((1, 200, 200, 3), 3e38, np.float32)):
        assert mosaic([shard(odd, [0])], levels=False) is not None


def test_low_frequencies_of_a_spectrogram_are_at_the_bottom() -> None:
    sound = np.zeros((1, 9, 5, 1), np.float32)
    sound[0, :, 0] = 1
    pixels = mosaic([shard(sound, [0])], levels=False, upright=False)
    assert pixels is not None
    assert pixels[TILE - 2, 1 : TILE - 1].min() == 255
    assert pixels[1, 1 : TILE - 1].max() == 0


@pytest.mark.parametrize("shape", [(30, 90), (90, 30), (700, 64), (2, 2), (129, 191)])
def test_pictures_of_all_sizes_keep_their_middle(shape: tuple[int, int]) -> None:
    values = np.zeros((1, *shape, 3), np.uint8)
    height, width = shape
    values[0, height // 4 : height - height // 4, width // 4 : width - width // 4] = 200
    pixels = mosaic([shard(values, [0])], levels=True)
    assert pixels is not None
    assert middles(pixels)[0] == 200


def test_a_vast_data_set_takes_the_memory_of_one_shard() -> None:
    def shards() -> Iterator[RawShard]:
        for number in range(40):
            labels = np.arange(200) + 200 * number
            yield shard(np.zeros((200, 64, 64, 3), np.uint8), labels)

    tracemalloc.start()
    assert mosaic(shards(), levels=True) is not None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6


def test_only_pictures_are_pictures() -> None:
    assert all(is_picture(shape) for shape in ([8, 8, 1], [32, 32, 3], [2, 4096, 1]))
    assert not any(
        is_picture(shape) for shape in ([8, 8], [8, 8, 2], [1, 8, 3], [8, 5000, 1], [4, 4, 4, 1], [])
    )


def test_a_png_has_the_pixels_and_nothing_else() -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (48, 80, 3)).astype(np.uint8)
    content = png(pixels)
    with Image.open(io.BytesIO(content)) as read:
        assert (read.format, read.mode, read.info) == ("PNG", "RGB", {})
        assert np.array_equal(np.asarray(read), pixels)
