"""What a model is trained for where nobody says so, by its last layers."""

from __future__ import annotations

from typing import Any

import keras
import pytest

from converter.conversion_task import ConversionTask
from converter.objectives.objective_proposals import proposal_sentences, proposals
from converter.objectives.objective_tables import read_objectives
from converter.tracing.model_ports import find_ports

pytestmark = pytest.mark.tensorflow

LOGITS = {"name": "sparse_categorical_crossentropy", "from_logits": True}
ADAM = {"name": "adam", "learning_rate": 0.001}


def model_of(*last: Any, shape: tuple[int, ...] = (6,)) -> Any:
    return keras.Sequential([keras.Input(shape), *last])


def proposed(model: Any, **said: Any) -> dict[str, Any]:
    return proposals(model, ConversionTask("small", 4, **said), find_ports(model))


@pytest.mark.parametrize(
    ("last", "loss", "metrics"),
    [
        (keras.layers.Dense(3, "softmax"), "sparse_categorical_crossentropy", ["accuracy"]),
        (keras.layers.Dense(3), LOGITS, ["accuracy"]),
        (keras.layers.Dense(1, "sigmoid"), "binary_crossentropy", ["accuracy"]),
        (keras.layers.Dense(4, "sigmoid"), "binary_crossentropy", ["accuracy"]),
        (keras.layers.Dense(1), "mean_squared_error", []),
        (keras.layers.Dense(2, "relu"), "mean_squared_error", []),
        (keras.layers.Softmax(), "sparse_categorical_crossentropy", ["accuracy"]),
    ],
)
def test_the_last_layer_says_which_loss_fits(last: Any, loss: Any, metrics: list[str]) -> None:
    found = proposed(model_of(last))
    assert found == {"loss": loss, "metrics": metrics, "optimizer": ADAM}
    assert [sentence[:32] for sentence in proposal_sentences(found)] == [
        "The model is not compiled with a"
    ] * 2


def test_what_the_model_or_the_task_file_says_is_not_proposed() -> None:
    model = model_of(keras.layers.Dense(3, "softmax"))
    assert proposed(model, loss="mse", metrics=["mae"], optimizer={"name": "sgd"}) == {}
    assert list(proposed(model, loss="mse")) == ["optimizer"]
    model.compile("sgd", "categorical_crossentropy")
    assert proposed(model) == {}
    assert proposal_sentences({}) == []


def test_objectives_leave_only_an_optimizer_to_propose() -> None:
    table = {"losses": [{"output": "dense", "name": "mse"}]}
    model = model_of(keras.layers.Dense(1))
    assert proposed(model, objectives=read_objectives([table])) == {"optimizer": ADAM}
    stepping = read_objectives([table | {"optimizer": {"name": "sgd"}}])
    assert proposed(model, objectives=stepping) == {}


def test_each_output_has_its_own_loss() -> None:
    inputs = keras.Input((4,))
    model = keras.Model(inputs, [keras.layers.Dense(2)(inputs), keras.layers.Dense(1)(inputs)])
    found = proposed(model, optimizer=ADAM)
    assert found == {"loss": [LOGITS, "mean_squared_error"], "metrics": [["accuracy"], []]}
