"""Losses, weights and metrics of `model.compile` reach the outputs that Keras gives them in `fit`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from keras import tree

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import NativeBundle, metric_values, relative_error

pytestmark = pytest.mark.tensorflow
layers = keras.layers
ROWS = 4
TOLERANCE = 1e-5


def outputs_by_key(*pairs: tuple[str, str]) -> Any:
    """A model whose output `key` comes from the layer `name`, for each pair."""
    x = keras.Input((3,))
    return keras.Model(x, {key: layers.Dense(1, name=name)(x) for key, name in pairs})


def swapped() -> Any:
    return outputs_by_key(("left", "right"), ("right", "left"))


def unlike() -> Any:
    return outputs_by_key(("price", "dense_a"), ("age", "dense_b"))


def listed() -> Any:
    x = keras.Input((3,))
    return keras.Model(x, [layers.Dense(1, name="one")(x), layers.Dense(1, name="two")(x)])


def called_twice() -> Any:
    first, second = keras.Input((3,)), keras.Input((3,))
    shared = layers.Dense(1, name="shared")
    return keras.Model([first, second], [shared(first), shared(second)])


def named_name() -> Any:
    return outputs_by_key(("name", "dense_a"), ("price", "dense_b"))


def nested() -> Any:
    x = keras.Input((3,))
    one, two, three = (layers.Dense(1, name=name)(x) for name in ("one", "two", "three"))
    return keras.Model(x, {"pair": [one, two], "rest": three})


SWAPPED = {"left": "mse", "right": "mae"}
COMPILED: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "keys that are other layers' names": (
        swapped,
        {"loss": SWAPPED, "loss_weights": {"left": 1.0, "right": 0.25}, "metrics": {"left": ["mae"]}},
    ),
    "lists for keys that are other layers' names": (
        swapped,
        {"loss": ["mse", "mae"], "loss_weights": [1.0, 0.25], "metrics": [["mae"], ["mse", "mape"]]},
    ),
    "keys that are no layer's name": (
        unlike,
        {"loss": {"price": "mse", "age": "mae"}, "metrics": {"age": ["mse"]}},
    ),
    "a key without loss": (unlike, {"loss": {"age": "mae", "price": None}, "metrics": {"price": "mae"}}),
    "an output called name": (named_name, {"loss": {"name": "mse", "price": "mae"}}),
    "weights in a list": (unlike, {"loss": {"price": "mse", "age": "mae"}, "loss_weights": [2.0, 3.0]}),
    "one weight for all": (listed, {"loss": "mse", "loss_weights": 2.0}),
    "no metrics": (listed, {"loss": {"two": "mse", "one": "mae"}, "metrics": []}),
    "metrics None": (listed, {"loss": ["mse", "mae"], "metrics": None, "weighted_metrics": []}),
    "lists of lists": (listed, {"loss": [["mse"], ["mae"]], "metrics": [["mae", "mape"], ["mse"]]}),
    "one metric for each": (listed, {"loss": "mse", "metrics": ["mae", None]}),
    "outputs of one layer": (called_twice, {"loss": {"shared": "mse"}}),
    "nested outputs": (
        nested,
        {"loss": {"pair": ["mse", "mae"], "rest": "mape"}, "loss_weights": {"pair": [1, 2], "rest": 0.5}},
    ),
}


def trained(bundle: NativeBundle, inputs: int, y: Any) -> Any:
    size = bundle.manifest["parameters"]["trainable"]
    arrays = {f"x_{number}": numbers(3, seed=number) for number in range(inputs)}
    arrays |= {f"y_{number}": array for number, array in enumerate(y)}
    return bundle.run(
        "train", {"trainable": bundle.weights[:size], "sample_weight": np.ones(ROWS, np.float32), **arrays}
    )


def numbers(columns: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(0.0, 1.0, (ROWS, columns)).astype(np.float32)


@pytest.mark.filterwarnings("ignore:Gradients do not exist")
@pytest.mark.parametrize("case", COMPILED)
def test_the_step_is_that_of_fit(convert: Convert, case: str) -> None:
    build, arguments = COMPILED[case]
    keras.utils.set_random_seed(4)
    model = build()
    model.compile(keras.optimizers.SGD(1.0), **arguments)
    bundle = convert(model, ROWS, loss=None, optimizer=None)
    labels = [numbers(1, seed=number + 7) for number in range(len(model.outputs))]
    measured = [port["name"] for port in bundle.manifest["labels"]]
    named = [port["name"] for port in bundle.manifest["outputs"]]
    given = [label for name, label in zip(named, labels, strict=True) if name in measured]
    done = trained(bundle, len(model.inputs), given)
    x: Any = [numbers(3, seed=number) for number in range(len(model.inputs))]
    before = [np.asarray(v) for v in model.trainable_variables]
    y = tree.pack_sequence_as(model._outputs_struct, labels)
    expected = model.train_on_batch(x if len(x) > 1 else x[0], y, return_dict=True)
    assert relative_error(done["loss"], expected.pop("loss")) <= TOLERANCE
    moved = [old - np.asarray(new) for old, new in zip(before, model.trainable_variables, strict=True)]
    assert relative_error(done["gradient"], np.concatenate([m.ravel() for m in moved])) <= TOLERANCE
    values = {name: float(value) for name, value in metric_values(bundle.manifest, done).items()}
    if case not in ("nested outputs", "outputs of one layer"):
        assert values == {name: pytest.approx(float(v), rel=1e-4) for name, v in expected.items()}


def test_ports_have_the_keys_of_a_dict_as_names(convert: Convert) -> None:
    first, second = keras.Input((3,), name="b"), keras.Input((2,), name="a")
    x = layers.Concatenate()([first, second])
    outputs = {"z": layers.Dense(1, name="c")(x), "a": layers.Dense(2, name="d")(x)}
    with pytest.warns(UserWarning, match="all keys in the dict must match"):
        model = keras.Model({"a": first, "b": second}, outputs)
    with warnings.catch_warnings():
        # Keras warns that keys and names differ, which is the point here.
        warnings.simplefilter("ignore")
        bundle = convert(model, ROWS, loss={"z": "mse", "a": "mae"}, metrics=[])
    assert [(p["name"], p["shape"]) for p in bundle.manifest["inputs"]] == [("a", [3]), ("b", [2])]
    assert [(p["name"], p["shape"]) for p in bundle.manifest["labels"]] == [("a", [2]), ("z", [1])]
    losses = [(p["name"], p["loss"]) for p in bundle.manifest["outputs"]]
    assert losses == [("a", "mean_absolute_error"), ("z", "mean_squared_error")]


@pytest.mark.parametrize(
    ("build", "arguments", "text"),
    [
        (listed, {"loss": {"one": "mse"}}, r"cannot train with the losses .* Expected keys \['one', 'two'\]"),
        (unlike, {"loss": {"price": "mse", "dense_b": "mae"}}, r"cannot train with the losses .*dense_b"),
        (listed, {"loss": "mse", "loss_weights": [1.0, 2.0]}, "must match the number of losses"),
        (listed, {"loss": "mse", "metrics": ["mae"]}, "cannot train with the metrics"),
        (listed, {"loss": [["mse", "mae"], ["mae"]]}, "several losses for its output 1; add them up"),
        (nested, {"loss": {"pair": "mse", "rest": "mse"}}, "one loss for several outputs together"),
    ],
)
def test_what_keras_could_not_train_is_refused(
    convert: Convert, build: Callable[[], Any], arguments: dict[str, Any], text: str
) -> None:
    model = build()
    model.compile("sgd", **arguments)
    with pytest.raises(Refusal, match=text) as caught:
        convert(model, ROWS, loss=None, optimizer=None)
    assert caught.value.code == "bad-task"


def test_a_key_that_is_no_name_is_refused(convert: Convert) -> None:
    with pytest.raises(Refusal, match=r"An output of the model has the key 'the \\x1b price'; use keys of"):
        convert(outputs_by_key(("the \x1b price", "dense")), ROWS)
