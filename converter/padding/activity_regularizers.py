"""Restricts activity regularizers to the real rows of a padded batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf

from converter.padding.real_rows import Rows, to_rank
from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes

# These regularizers are sums over the activations, to which zeros add nothing.
SUMS = (keras.regularizers.L1, keras.regularizers.L2, keras.regularizers.L1L2)


@contextmanager
def exact_activities(model: Any, rows: Rows) -> Iterator[None]:
    """While open, activity regularizers leave out padded rows."""
    with ExitStack() as stack:
        for layer in model._flatten_layers():
            regularizer = getattr(layer, "activity_regularizer", None)
            if regularizer is not None:
                exact = {"activity_regularizer": regularizer_of_rows(regularizer, rows)}
                stack.enter_context(patched_attributes(layer, exact))
        yield


def regularizer_of_rows(regularizer: Any, rows: Rows) -> Callable[[Any], Any]:
    """Returns an activity regularizer over the real rows of a batch.

    Keras divides its result by the padded number of rows.
    """

    def penalize(activations: Any) -> Any:
        padded = int(rows.exists.shape[0])
        length, rank = activations.shape[0], len(activations.shape)
        if length is None or length % padded:
            raise Refusal("An activity regularizer needs activations of shape [batch, ...]; remove it.")
        exists = rows.exists
        if length != padded:
            # Time steps may be folded into the batch, [B, n, ...] to [B * n, ...]; a row's parts are then
            # adjacent.
            exists = tf.reshape(tf.tile(exists[:, None], [1, length // padded]), [length])
        penalty = regularizer(activations * to_rank(exists, rank))
        return penalty * tf.math.divide_no_nan(float(padded), rows.count)

    return penalize
