"""All families of cases, by the names that reports give them."""

from __future__ import annotations

from tests.browser.ops import (
    binary,
    chains,
    elementwise,
    images,
    indexing,
    products,
    reductions,
    shapes,
    slicing,
    special,
    tiles,
    volumes,
    windows,
)
from tests.browser.ops.case import Case, Family, start_anew

FAMILIES: dict[str, tuple[Family, ...]] = {
    "elementwise": (
        elementwise.functions,
        elementwise.whole_numbers,
        elementwise.casts,
        elementwise.activation_gradients,
    ),
    "binary": (
        binary.arithmetic,
        binary.powers,
        binary.divisions,
        binary.comparisons,
        binary.choices,
    ),
    "windows": (windows.convolutions, windows.depthwise, windows.pools),
    "products": (products.products, products.einsums, products.biases, products.fused),
    "reductions": (
        reductions.reductions,
        reductions.places,
        reductions.running,
        reductions.distributions,
    ),
    "slicing": (slicing.strided, slicing.plain, slicing.parts, slicing.joins),
    "indexing": (indexing.gathers, indexing.scatters, indexing.segments, indexing.one_hots),
    "images": (images.resizes, images.mirrors, images.blocks),
    "special": (special.functions, special.order, special.products, special.updates),
    "tiles": (tiles.matrices, tiles.windows, tiles.pooled, tiles.each, tiles.axes),
    "volumes": (volumes.convolutions, volumes.pools),
    "chains": (chains.copies, chains.computed),
    "shapes": (shapes.shapes, shapes.transposes, shapes.paddings, shapes.blocks, shapes.makers),
}


def cases(name: str) -> list[Case]:
    """The cases of a family, the same on every call."""
    made: list[Case] = []
    for family in FAMILIES[name]:
        start_anew()
        made += family()
    return made
