"""Draws a mosaic of examples, one of each class in turn, and encodes it as PNG without a library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from itertools import chain, cycle, islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.formats.shard_file import RawShard
from backend.numerics.preprocess.image import Pixels

COLUMNS, ROWS, TILE = 5, 3, 64
EXAMPLES = COLUMNS * ROWS
WIDTH, HEIGHT = COLUMNS * TILE, ROWS * TILE
# The colour of the lines between examples, neither light nor dark.
LINES = (128, 124, 118)
# Sides of an example that is a picture, in values.
_SIDES = range(2, 4097)
_CHANNELS = (1, 3)
# Sums of a few thousand values of this size are still numbers of four bytes.
_LARGEST = 1e30
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR = 2

Values = NDArray[Any]


def is_picture(shape: list[int]) -> bool:
    """Whether examples of this shape are pictures: [height, width, 1 or 3]."""
    return len(shape) == 3 and shape[2] in _CHANNELS and all(side in _SIDES for side in shape[:2])


def mosaic(shards: Iterable[RawShard], *, levels: bool, upright: bool = True) -> Pixels | None:
    """Draws up to EXAMPLES of the shards' first input [n, h, w, c], by classes; None without an example.

    `levels` says that the values are levels of colour; others are stretched from black to white. Without
    `upright` the first axis is time and the second frequency, low ones first. Memory: one shard, and at most
    EXAMPLES small tiles of each of EXAMPLES classes.
    """
    tiles: dict[float, list[Pixels]] = {}
    for shard in shards:
        x = shard.x[0]
        for row, label in enumerate(_classes(shard)):
            of_class = tiles.setdefault(label, []) if len(tiles) < EXAMPLES else tiles.get(label)
            if of_class is not None and len(of_class) < EXAMPLES:
                of_class.append(_tile(x[row], levels=levels, upright=upright))
    turns = zip_longest(*(tiles[label] for label in sorted(tiles)))
    drawn = [tile for tile in chain.from_iterable(turns) if tile is not None]
    if not drawn:
        return None
    rows = np.stack(list(islice(cycle(drawn), EXAMPLES))).reshape(ROWS, COLUMNS, TILE, TILE, 3)
    pixels = np.ascontiguousarray(rows.swapaxes(1, 2).reshape(HEIGHT, WIDTH, 3))
    for edge in (0, TILE - 1):
        pixels[edge::TILE] = pixels[:, edge::TILE] = LINES
    return pixels


def png(pixels: Pixels) -> bytes:
    """Encodes levels [height, width, 3] as a PNG."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, 3 * width)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_part(kind, content) for kind, content in parts)


def _part(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _classes(shard: RawShard) -> list[float]:
    """Returns a number for each example that others of its class share."""
    count = len(shard.sample_weight)
    if not shard.y or not shard.y[0].size:
        return [0.0] * count
    labels = shard.y[0].reshape(count, -1)
    numbers: list[float] = (labels[:, 0] if labels.shape[1] == 1 else labels.argmax(axis=1)).tolist()
    return numbers


def _tile(values: Values, *, levels: bool, upright: bool) -> Pixels:
    """Returns an example as a square of colours [TILE, TILE, 3]; the sides of a wide picture are cut off."""
    if upright:
        side = min(values.shape[:2])
        top, left = ((length - side) // 2 for length in values.shape[:2])
        values = values[top : top + side, left : left + side]
    else:
        values = values.swapaxes(0, 1)[::-1]
    small = _resized(np.nan_to_num(values.astype(np.float32)).clip(-_LARGEST, _LARGEST))
    if not levels:
        lowest, highest = float(small.min()), float(small.max())
        small = (small - lowest) * (255 / ((highest - lowest) or 1.0))
    colours = np.rint(small).clip(0, 255).astype(np.uint8)
    return np.broadcast_to(colours, (TILE, TILE, 3)) if colours.shape[2] == 1 else colours


def _resized(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Resizes to TILE by TILE: means of whole blocks, then the nearest of them."""
    for axis in (0, 1):
        block = values.shape[axis] // TILE
        if block > 1:
            length = values.shape[axis] // block
            kept = values.take(range(block * length), axis)
            shape = (*kept.shape[:axis], length, block, *kept.shape[axis + 1 :])
            values = kept.reshape(shape).mean(axis=axis + 1)
        nearest = np.arange(TILE) * values.shape[axis] // TILE
        values = values.take(nearest, axis)
    return values
