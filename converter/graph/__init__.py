"""Optimizes a frozen graph by passes, each in a separate file.

The passes use only ops of TensorFlow itself. Grappler has folded constants and shapes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from converter.graph.common_subexpressions import share_common
from converter.graph.constants import narrow_constants
from converter.graph.einsums import lower_einsums
from converter.graph.graph_view import View
from converter.graph.identity_lists import drop_identity_lists
from converter.graph.matrix_products import flatten_products, flatten_summed_products
from converter.graph.neutral_ops import drop_neutral
from converter.graph.op_fusion import fuse_bias
from converter.graph.packed_vectors import join_split, lift_arithmetic
from converter.graph.recurrent_products import join_unpacked, products_of_steps, sum_of_products
from converter.graph.reductions import narrow_reductions
from converter.graph.reshapes import cancel_transposes, lift_bias_gradients, merge_reshapes, sink_reshapes
from converter.graph.signs import fold_factors, fold_signs, plain_sums
from converter.graph.softmax import skip_softmax
from converter.graph.tiles import drop_tiles

__all__ = [
    "PASSES",
    "Pass",
    "cancel_transposes",
    "drop_identity_lists",
    "drop_neutral",
    "drop_tiles",
    "flatten_products",
    "flatten_summed_products",
    "fold_factors",
    "fold_signs",
    "fuse_bias",
    "join_split",
    "join_unpacked",
    "lift_arithmetic",
    "lift_bias_gradients",
    "lower_einsums",
    "merge_reshapes",
    "narrow_constants",
    "narrow_reductions",
    "plain_sums",
    "products_of_steps",
    "share_common",
    "simplify",
    "sink_reshapes",
    "skip_softmax",
    "sum_of_products",
]

Pass = Callable[[View], None]
PASSES: tuple[Pass, ...] = (
    drop_identity_lists,
    drop_neutral,
    lower_einsums,
    flatten_summed_products,
    flatten_products,
    sum_of_products,
    products_of_steps,
    join_unpacked,
    lift_arithmetic,
    join_split,
    drop_tiles,
    narrow_reductions,
    sink_reshapes,
    lift_bias_gradients,
    merge_reshapes,
    cancel_transposes,
    plain_sums,
    fold_signs,
    fold_factors,
    skip_softmax,
    share_common,
    narrow_constants,
)
MAX_ROUNDS = 8


def simplify(graph_def: Any, outputs: Iterable[str]) -> Any:
    """Returns a graph with the same inputs, outputs and (to rounding) values, and fewer, cheaper nodes."""
    view = View(graph_def, outputs)
    for _ in range(MAX_ROUNDS):
        before = set(view.nodes)
        for rewrite in PASSES:
            rewrite(view)
        if set(view.nodes) == before:
            break
    fuse_bias(view)
    return view.graph_def()
