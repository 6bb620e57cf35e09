"""Weights that a model calls but does not own: constants are named in a warning, variables are refused."""

from __future__ import annotations

import re
from typing import Any

import keras
import pytest

from converter.refusal import Refusal
from converter.validation.unowned_weights import constant_warnings
from tests.integration.converter.conftest import Convert, OwnFile

pytestmark = pytest.mark.tensorflow
layers = keras.layers

BORROWED = """
import keras

HELPER = keras.layers.Dense(3)
HELPER.build((None, 3))


@keras.saving.register_keras_serializable("own")
class Borrows(keras.layers.Layer):
    def call(self, x):
        return HELPER(x)
"""


def positioned(inside: bool) -> Any:
    tokens = keras.Input((6,), dtype="int32")
    places = keras.ops.cumsum(keras.ops.ones_like(tokens), axis=1) - 1 if inside else keras.ops.arange(6)
    x = layers.Embedding(9, 4)(tokens) + layers.Embedding(6, 4, name="places")(places)
    return keras.Model(tokens, layers.Dense(2)(x))


def test_an_embedding_called_outside_of_the_model_is_named_in_a_warning(convert: Convert) -> None:
    (warning,) = convert(positioned(inside=False)).manifest["warnings"]
    assert re.search(r"The layer add\w* takes 6 x 4 constant numbers", warning)
    assert "never trained" in warning


def test_inside_of_a_nested_model_too(convert: Convert) -> None:
    tokens = keras.Input((6,), dtype="int32")
    model = keras.Model(tokens, layers.Dense(2)(positioned(inside=False)(tokens)))
    assert len(convert(model).manifest["warnings"]) == 1


def test_called_inside_the_model_it_is_trained(convert: Convert) -> None:
    manifest = convert(positioned(inside=True)).manifest
    assert manifest["warnings"] == []
    assert "places/embeddings" in [entry["name"] for entry in manifest["layout"] if entry["trainable"]]


def test_more_warnings_than_a_manifest_holds_are_left_out(convert: Convert) -> None:
    x = keras.Input((3,))
    y = x
    for number in range(20):
        y = keras.ops.add(y, keras.ops.array([1.0, 2.0, float(number)]))
    # The peer's code reads the manifest, and would refuse a longer list.
    assert len(convert(keras.Model(x, layers.Dense(2)(y))).manifest["warnings"]) == 15


def test_numbers_and_whole_numbers_are_no_weights() -> None:
    x = keras.Input((3,))
    y = keras.ops.take(x * 2.0, keras.ops.array([2, 1, 0]), axis=1)
    assert constant_warnings(keras.Model(x, y)) == []


def test_a_layer_that_calls_weights_of_nobody_is_refused(convert: Convert, own_file: OwnFile) -> None:
    path, module = own_file(BORROWED)
    x = keras.Input((3,))
    with pytest.raises(
        Refusal, match=r"layer borrows.*reads a variable that the model does not own.*self\.inner"
    ):
        convert(keras.Model(x, layers.Dense(2)(module.Borrows()(x))), custom=path)
