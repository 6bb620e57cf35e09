"""Removes tiles before ops that broadcast."""

from __future__ import annotations

from typing import Any

import numpy as np

from converter.graph.graph_view import View

_BROADCASTING = {"AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "DivNoNan"}


def drop_tiles(view: View) -> None:
    """Lets ops that broadcast read the small tensor; applies a factor before tiling, not after."""
    for node in view.all("Tile"):
        if not view.is_alive(node) or not _stretches(view, node):
            continue
        for user, index in view.users(node.name):
            if user.op not in _BROADCASTING or not view.is_alive(user):
                continue
            small, other = str(node.input[0]), str(user.input[1 - index])
            if np.broadcast_shapes(view.shape(small), view.shape(other)) == view.shape(user.name):
                view.rewire(user, index, small)
            elif view.size(other) == 1 and len(view.shape(other)) <= len(view.shape(small)):
                _tile_after(view, node, user, index)
            if not view.is_alive(node):
                break


def _stretches(view: View, node: Any) -> bool:
    before, after = view.shape(node.input[0]), view.shape(node.name)
    return all(old in (1, new) for old, new in zip(before, after, strict=True))


def _tile_after(view: View, tile: Any, user: Any, index: int) -> None:
    inputs = [str(tensor) for tensor in user.input]
    inputs[index] = str(tile.input[0])
    kind = view.type(user.name)
    small = view.add(user.op, inputs, view.shape(tile.input[0]), user, kind)
    view.maker(small).attr["T"].type = kind
    tiled = view.add("Tile", [small, tile.input[1]], view.shape(user.name), user, kind)
    for key in tile.attr:
        view.maker(tiled).attr[key].CopyFrom(tile.attr[key])
    view.replace(user.name, tiled)
