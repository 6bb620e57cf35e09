"""Replaces functions of Keras by equivalents made of ops that every backend has.

The equivalents are also cheap to differentiate. Each module holds some functions of Keras' TensorFlow
backend; `use_decompositions` swaps them in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import core as keras_core
from keras.src.backend.tensorflow import image as keras_image
from keras.src.backend.tensorflow import nn as keras_nn
from keras.src.backend.tensorflow import numpy as keras_numpy
from keras.src.utils import tf_utils

from converter.decompositions import activations, categorical, convolutions, images, pooling
from converter.decompositions.normalization import use_closed_form_gradients
from converter.decompositions.sums import open_batch_sums
from converter.tracing.attribute_patch import patched_attributes
from converter.tracing.failed_calls import cannot_trace

# Raised by layers and TensorFlow when shapes or types do not fit a fixed batch.
_FAULTS = (TypeError, ValueError, NotImplementedError, AttributeError, LookupError, tf.errors.OpError)


@contextmanager
def use_decompositions() -> Iterator[None]:
    """While open, traces Keras' layers with the functions of this package."""
    conv = convolutions.make_conv(keras_nn.conv, keras_nn.depthwise_conv)
    nn: dict[str, Callable[..., Any]] = {
        "gelu": activations.gelu,
        "sparsemax": activations.sparsemax,
        "conv": conv,
        "conv_transpose": convolutions.make_conv_transpose(keras_nn.conv_transpose, conv),
        "max_pool": pooling.make_pool(keras_nn.max_pool, is_max=True),
        "average_pool": pooling.make_pool(keras_nn.average_pool, is_max=False),
    }
    for name, is_max in (("adaptive_max_pool", True), ("adaptive_average_pool", False)):
        # Keras has these two from version 3.15.
        if hasattr(keras_nn, name):
            nn[name] = pooling.make_adaptive_pool(getattr(keras_nn, name), is_max)
    image: dict[str, Callable[..., Any]] = {
        "resize": images.resize,
        "affine_transform": images.affine_transform,
        "rgb_to_hsv": images.rgb_to_hsv,
        "hsv_to_rgb": images.hsv_to_rgb,
    }
    with ExitStack() as stack:
        stack.enter_context(patched_attributes(keras_nn, nn))
        stack.enter_context(patched_attributes(keras_image, image))
        stack.enter_context(patched_attributes(keras_core, {"cond": categorical.cond}))
        numpy: dict[str, Callable[..., Any]] = {
            "digitize": categorical.digitize,
            "signbit": categorical.signbit,
        }
        stack.enter_context(patched_attributes(keras_numpy, numpy))
        stack.enter_context(open_batch_sums())
        encode = {"tf_encode_categorical_inputs": categorical.encode_categories}
        stack.enter_context(patched_attributes(tf_utils, encode))
        stack.enter_context(use_closed_form_gradients())
        stack.enter_context(_translated_errors())
        yield


@contextmanager
def _translated_errors() -> Iterator[None]:
    """Turns what a layer raises into a Refusal without the call's arguments, which Keras appends."""
    was_enabled = keras.config.is_traceback_filtering_enabled()
    keras.config.disable_traceback_filtering()
    try:
        yield
    except _FAULTS as error:
        raise cannot_trace(error) from error
    finally:
        if was_enabled:
            keras.config.enable_traceback_filtering()
