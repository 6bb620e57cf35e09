"""Resizing, mirrored borders, and pixels as channels."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.ops.case import Array, Case, Fixed, Shape, floats, integers

SIZES: tuple[tuple[Shape, Shape], ...] = (
    ((4, 4), (8, 8)),
    ((4, 6), (8, 12)),
    ((5, 4), (7, 3)),
    ((8, 8), (4, 4)),
    ((3, 5), (1, 1)),
    ((1, 1), (3, 4)),
    ((4, 3), (4, 3)),
    ((2, 3), (5, 9)),
)
# Align corners, half pixel centers.
MODES = ((False, False), (False, True), (True, False))


def resizes() -> Iterator[Case]:
    for before, after in SIZES:
        for align, half in MODES:
            mode = {"align_corners": align, "half_pixel_centers": half}
            image, dy = floats(2, *before, 3), floats(2, *after, 3)
            size = Fixed(*after)
            yield "ResizeBilinear", {"images": image, "size": size, **mode}
            yield "ResizeNearestNeighbor", {"images": image, "size": size, **mode}
            yield "ResizeBilinearGrad", {"grads": dy, "original_image": image, **mode}
            yield "ResizeNearestNeighborGrad", {"grads": dy, "size": Fixed(*before), **mode}


def mirrors() -> Iterator[Case]:
    borders: tuple[tuple[Shape, tuple[Shape, ...]], ...] = (
        ((5,), ((2, 1),)),
        ((3, 4), ((1, 2), (0, 3))),
        ((2, 4, 4, 3), ((0, 0), (2, 1), (1, 3), (0, 0))),
        ((2, 3, 2, 3, 2), ((0, 1), (2, 0), (1, 1), (0, 2), (1, 0))),
    )
    for shape, widths in borders:
        for mode in ("REFLECT", "SYMMETRIC"):
            out = [size + sum(width) for size, width in zip(shape, widths, strict=True)]
            yield "MirrorPad", {"input": floats(*shape), "paddings": Fixed(*widths), "mode": mode}
            yield "MirrorPadGrad", {"input": floats(*out), "paddings": Fixed(*widths), "mode": mode}


def blocks() -> Iterator[Case]:
    for shape, block in (((2, 4, 6, 3), 2), ((1, 6, 3, 2), 3), ((1, 2, 2, 1), 2)):
        yield "SpaceToDepth", {"input": floats(*shape), "block_size": block}
        n, height, width, channels = shape
        deep: Array = floats(n, height // block, width // block, channels * block * block)
        yield "DepthToSpace", {"input": deep, "block_size": block}
    yield "SpaceToDepth", {"input": integers(9, 1, 4, 4, 2), "block_size": 2}
