"""What resizing and turning do to pictures."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.numerics.preprocess.fitted import Resize
from backend.numerics.preprocess.image import orient
from backend.numerics.preprocess.resample import ONE, axis_taps, resize

WAYS: tuple[Resize, ...] = ("nearest", "bilinear", "bicubic", "area")
PICTURE: NDArray[np.uint8] = np.random.default_rng(2).integers(0, 256, (12, 8, 3), np.uint8)


@pytest.mark.parametrize("way", WAYS)
def test_a_picture_of_the_right_size_stays_as_it_is(way: Resize) -> None:
    assert (resize(PICTURE, (0, 12, 12), (0, 8, 8), way) == PICTURE).all()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [(3, 3), (24, 1), (31, 17)])
def test_one_colour_stays_that_colour(way: Resize, size: tuple[int, int]) -> None:
    plain = np.full((12, 8, 3), 201, np.uint8)
    assert (resize(plain, (0, 12, size[0]), (0, 8, size[1]), way) == 201).all()


@pytest.mark.parametrize("way", WAYS)
def test_weights_of_every_target_pixel_add_up_to_one(way: Resize) -> None:
    for n, start, length, m in ((7, 0.0, 7, 3), (300, 40.5, 199.25, 32), (3, 0, 3, 50)):
        assert (axis_taps(n, start, length, m, way).weights.sum(axis=1) == ONE).all()


def test_area_is_the_mean_of_whole_blocks() -> None:
    halves = resize(PICTURE, (0, 12, 6), (0, 8, 4), "area")
    means = PICTURE.reshape(6, 2, 4, 2, 3).mean(axis=(1, 3))
    assert (halves == np.floor(means + 0.5)).all()


def test_a_mirrored_picture_resizes_to_the_mirrored_result() -> None:
    for way in ("bilinear", "bicubic", "area"):
        straight = resize(PICTURE, (0, 12, 5), (0, 8, 6), way)
        mirrored = resize(PICTURE[:, ::-1], (0, 12, 5), (0, 8, 6), way)
        assert np.abs(straight.astype(int) - mirrored[:, ::-1]).max() <= 1


def test_orientations_are_those_of_exif() -> None:
    picture = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)[..., None]
    seen = {number: orient(picture, number)[..., 0].tolist() for number in range(1, 9)}
    assert seen == {
        1: [[1, 2, 3], [4, 5, 6]],
        2: [[3, 2, 1], [6, 5, 4]],
        3: [[6, 5, 4], [3, 2, 1]],
        4: [[4, 5, 6], [1, 2, 3]],
        5: [[1, 4], [2, 5], [3, 6]],
        6: [[4, 1], [5, 2], [6, 3]],
        7: [[6, 3], [5, 2], [4, 1]],
        8: [[3, 6], [2, 5], [1, 4]],
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_photo_of_twelve_million_pixels_takes_little_memory(way: Resize) -> None:
    photo = np.random.default_rng(4).integers(0, 256, (3000, 4000, 3), np.uint8)
    tracemalloc.start()
    small = resize(photo, (0, 3000, 224), (0, 4000, 224), way)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert small.shape == (224, 224, 3)
    # One row of targets at a time: less than the photo itself.
    assert most < photo.nbytes
