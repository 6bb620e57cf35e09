"""Operations are counted alike, whether a bias and an activation are part of the op or not."""

from __future__ import annotations

import keras
import pytest

from tests.integration.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow


def test_fused_ops_count_their_multiplications(convert: Convert) -> None:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((6, 6, 2)),
            layers.Conv2D(4, 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(5, activation="relu"),
            layers.Dense(1),
        ]
    )
    bundle = convert(model, batch_size=3)
    assert {"_FusedConv2D", "_FusedMatMul"} <= set(bundle.manifest["ops"]["predict"])
    convolution = 2 * 3 * 6 * 6 * 4 * 3 * 3 * 2
    products = 2 * 3 * (6 * 6 * 4 * 5 + 5)
    biases_and_activations = 2 * 3 * (6 * 6 * 4 + 5) + 3
    assert bundle.manifest["flops"]["predict"] == convolution + products + biases_and_activations


def test_reductions_count_what_they_read(convert: Convert) -> None:
    layers = keras.layers
    model = keras.Sequential([keras.Input((10,)), layers.Dense(20, "relu"), layers.Dense(1, use_bias=False)])
    by_op = {row["op"]: row for row in convert(model, batch_size=8).manifest["step"]["ops"]}
    assert by_op["BiasAddGrad"] == {"op": "BiasAddGrad", "runs": 1, "flops": 8 * 20, "bytes": 4 * (160 + 20)}


def test_a_transposed_convolution_multiplies_each_value_it_reads_not_each_it_writes(convert: Convert) -> None:
    layer = keras.layers.Conv2DTranspose(3, 4, strides=2, padding="same", use_bias=False)
    bundle = convert(keras.Sequential([keras.Input((5, 5, 2)), layer]), batch_size=3)
    by_op = {row["op"]: row for row in bundle.manifest["step"]["ops"]}
    assert bundle.manifest["flops"]["predict"] == 2 * (3 * 5 * 5 * 2) * (4 * 4 * 3)
    assert by_op["Conv2DBackpropInput"]["flops"] == 2 * (3 * 5 * 5 * 2) * (4 * 4 * 3)
