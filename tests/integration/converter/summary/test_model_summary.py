"""Layers, work and memory in bundle.json, against models small enough to count."""

from __future__ import annotations

from typing import Any

import pytest

from converter.summary.model_summary import describe_layers
from converter.tracing.vector_layout import Layout
from tests.integration.converter.conftest import Convert, keras

pytestmark = pytest.mark.tensorflow
layers = keras.layers


def described(model: Any) -> list[dict[str, Any]]:
    layout = Layout(model)
    rows = describe_layers(model, layout)
    assert sum(row["trainable"] for row in rows) == layout.trainable
    assert sum(row["parameters"] for row in rows) == layout.trainable + layout.state
    return rows


def test_each_layer_says_kind_shape_and_parameters() -> None:
    model = keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(4, 3, name="eyes"),
            layers.BatchNormalization(name="norm"),
            layers.Flatten(name="flat"),
            layers.Dense(2, name="head", trainable=False),
        ]
    )
    shapes = {"eyes": [6, 6, 4], "norm": [6, 6, 4], "flat": [144], "head": [2]}
    counts = {"eyes": (40, 40), "norm": (16, 8), "flat": (0, 0), "head": (290, 0)}
    kinds = ["Conv2D", "BatchNormalization", "Flatten", "Dense"]
    rows = described(model)
    assert [row["kind"] for row in rows] == kinds
    assert {row["name"]: row["output_shapes"] for row in rows} == {name: [s] for name, s in shapes.items()}
    assert {row["name"]: (row["parameters"], row["trainable"]) for row in rows} == counts


def test_nested_and_shared_layers_are_counted_once() -> None:
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="shared")], name="tower")
    left, right = keras.Input((4,)), keras.Input((4,))
    both = layers.Concatenate(name="both")([inner(left), inner(right)])
    rows = described(keras.Model([left, right], layers.Dense(1, name="head")(both)))
    assert [(row["name"], row["parameters"]) for row in rows] == [
        ("tower/shared", 15),
        ("both", 0),
        ("head", 7),
    ]


def test_layers_within_layers_belong_to_the_outer_one() -> None:
    model = keras.Sequential(
        [keras.Input((5, 2)), layers.Bidirectional(layers.LSTM(3), name="both-ways"), layers.Dropout(0.5)]
    )
    rows = described(model)
    assert [row["parameters"] for row in rows] == [2 * 4 * 3 * (2 + 3 + 1), 0]
    assert rows[0]["name"] == "both-ways"


class Scaled(keras.Model):  # type: ignore[misc]
    """A model with a weight of its own beside its layer."""

    def __init__(self) -> None:
        super().__init__(name="scaled")
        self.scale = self.add_weight(shape=(3,), name="scale")
        self.dense = layers.Dense(3, name="dense")

    def call(self, x: Any) -> Any:
        return self.dense(x) * self.scale


def test_weights_of_the_model_itself_are_a_row_too() -> None:
    model = Scaled()
    model(keras.Input((2,)))
    assert [(row["name"], row["parameters"]) for row in described(model)] == [("dense", 9), ("scaled", 3)]


def test_the_step_counts_its_products_and_its_memory(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((100,)), layers.Dense(50, use_bias=False)])
    bundle = convert(model, batch_size=8, optimizer={"name": "adam"})
    flops, step = bundle.manifest["flops"], bundle.manifest["step"]
    product = 2 * 8 * 100 * 50
    by_op = {row["op"]: row for row in step["ops"]}
    # Forward and the gradient of the kernel; the inputs need none.
    values = 8 * 100 + 100 * 50 + 8 * 50
    assert by_op["MatMul"] == {"op": "MatMul", "runs": 2, "flops": 2 * product, "bytes": 2 * 4 * values}
    assert sum(row["flops"] for row in step["ops"]) == flops["train"] + flops["apply"]
    assert product <= flops["predict"] < flops["evaluate"] < flops["train"]
    memory = step["memory"]
    assert memory["weights"] == 4 * 5000
    assert memory["slots"] == 2 * memory["weights"]
    assert memory["inputs"] == 4 * (8 * 100 + 8 * 50 + 8)
    # Adam makes both new slots and the new weights from the gradient.
    assert memory["intermediates"] >= 4 * memory["weights"]
    assert step["largest_tensor"] == {"name": "slots", "shape": [2, 5000]}
    assert len(step["deepest_tensor"]["shape"]) == 2
    assert step["sliced"] is None


def test_slices_take_less_memory_but_for_the_sum_of_their_gradients(convert: Convert) -> None:
    model = keras.Sequential([keras.Input((100,)), layers.Dense(400, "relu"), layers.Dense(1)])
    step = convert(model, batch_size=256, slice=4).manifest["step"]
    whole, sliced = step["memory"], step["sliced"]["memory"]
    assert whole["inputs"] == 64 * sliced["inputs"]
    assert whole["weights"] == sliced["weights"]
    # Of 40,801 values are the slice's gradient and the sum; of 102,400 the activations of the whole batch.
    assert 2 * 4 * 40801 < sliced["intermediates"] < whole["intermediates"] - 4 * 102400 // 2
    assert step["largest_tensor"]["shape"] == [256, 400]
    assert step["sliced"]["largest_tensor"]["shape"] == [40801]
