"""Narrows reductions of many axes, as in the gradient of a tile: WebGL and WebGPU support six."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import tensorflow as tf

from converter.graph.graph_view import View

# Up to this rank every backend has its own kernel.
_PLAIN_RANK = 4


def narrow_reductions(view: View) -> None:
    """Drops axes of length one and merges neighbours that are both summed or both kept."""
    for node in view.all("Sum", "Mean"):
        axes, shape = view.value(node.input[1]), view.shape(node.input[0])
        if axes is None or len(shape) <= _PLAIN_RANK:
            continue
        summed = {int(axis) % len(shape) for axis in axes.ravel()}
        long = [(axis in summed, length) for axis, length in enumerate(shape) if length != 1]
        runs = [(drop, math.prod(n for _, n in run)) for drop, run in groupby(long, key=lambda pair: pair[0])]
        if len(runs) == len(shape):
            continue
        kind = tf.as_dtype(view.type(node.name))
        inputs = [
            view.reshape(str(node.input[0]), [length for _, length in runs], node),
            view.constant([axis for axis, (drop, _) in enumerate(runs) if drop], np.int32, node),
        ]
        kept_shape = [length for drop, length in runs if not drop]
        attributes = {"T": kind, "Tidx": tf.int32, "keep_dims": False}
        narrow = view.add(node.op, inputs, kept_shape, node, view.type(node.name), **attributes)
        view.replace(node.name, view.reshape(narrow, view.shape(node.name), node))
