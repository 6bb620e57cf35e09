"""Makes unrolled recurrent layers read masked sequences backwards as Keras' loop does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import tensorflow as tf
from keras import tree
from keras.src import backend

from converter.tracing.attribute_patch import patched_attributes


def without_backward_pass(rnn: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps Keras' `rnn` to read a masked sequence backwards as the reversed sequence forwards.

    Unrolled, Keras 3.15 zeroes the masked outputs of a backward pass by the mask in forward order; its loop,
    which bundles cannot hold, does not.
    """

    @wraps(rnn)
    def run(
        step_function: Any,
        inputs: Any,
        initial_states: Any,
        go_backwards: bool = False,
        mask: Any = None,
        **settings: Any,
    ) -> Any:
        if go_backwards and mask is not None:
            time = 0 if settings.get("time_major") else 1
            inputs = tree.map_structure(lambda tensor: tf.reverse(tensor, [time]), inputs)
            # Not every backend can reverse booleans.
            mask = tf.reverse(tf.cast(mask, tf.float32), [time]) > 0.5
            go_backwards = False
        return rnn(step_function, inputs, initial_states, go_backwards=go_backwards, mask=mask, **settings)

    return run


@contextmanager
def exact_recurrence() -> Iterator[None]:
    """While open, recurrent layers treat masks as Keras' loop does."""
    with patched_attributes(backend, {"rnn": without_backward_pass(backend.rnn)}):
        yield
