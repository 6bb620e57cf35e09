"""Models with several outputs, masks, weighted classes: a padded step is Keras' step on the real rows."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import tree

from converter.refusal import Refusal
from tests.integration.converter.conftest import Convert
from tests.support.keras.native import NativeBundle, metric_values, relative_error

pytestmark = pytest.mark.tensorflow
layers = keras.layers
ROWS, BATCH = 5, 8
TOLERANCE = 1e-5
WEIGHT = np.array([1.0, 0.5, 2.0, 1.5, 1.0, 0.0, 0.0, 0.0], np.float32)


@pytest.fixture(autouse=True)
def seed() -> None:
    keras.utils.set_random_seed(3)


def numbers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(0.0, 1.0, (BATCH, *shape)).astype(np.float32)


def whole(high: int, *shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(0, high, (BATCH, *shape)).astype(np.int32)


def short(value: Any) -> Any:
    return tree.map_structure(lambda array: array[:ROWS], value)


def run(bundle: NativeBundle, signature: Any, x: list[Any], y: list[Any], weight: Any = WEIGHT) -> Any:
    size = bundle.manifest["parameters"]["trainable"]
    arrays = {f"x_{i}": a for i, a in enumerate(x)} | {f"y_{j}": a for j, a in enumerate(y)}
    vectors = {"trainable": bundle.weights[:size], "state": bundle.weights[size:]}
    return bundle.run(signature, arrays | vectors | {"sample_weight": weight})


def check_step(bundle: NativeBundle, model: Any, x: Any, y: Any, weights: Any = None) -> None:
    """One training step of a bundle against `model`, compiled alike, on the rows that exist.

    `weights` are Keras' sample weights in the nesting of `y` where they are not one number an example.
    """
    done = run(bundle, "train", tree.flatten(x), [a for a in tree.flatten(y) if a is not None])
    wanted = weights if weights is not None else tree.map_structure(lambda _: WEIGHT, y)
    with tf.GradientTape() as tape:
        output = model(short(x), training=True)
        loss = model.compute_loss(short(x), short(y), output, short(wanted), training=True)
    gradient = [tf.convert_to_tensor(g) for g in tape.gradient(loss, model.trainable_variables)]
    metrics = model.compute_metrics(short(x), short(y), output, short(wanted))
    del metrics["loss"]
    assert relative_error(done["loss"], loss) <= TOLERANCE
    flat = np.concatenate([g.numpy().ravel() for g in gradient])
    assert relative_error(done["gradient"], flat) <= TOLERANCE
    values = metric_values(bundle.manifest, done)
    assert values == {name: pytest.approx(float(v), rel=1e-5) for name, v in metrics.items()}
    if "new_state" in done:
        state = [v for v in model.non_trainable_variables if v.dtype == "float32"]
        assert relative_error(done["new_state"], np.concatenate([np.ravel(v) for v in state])) <= TOLERANCE


def two_by_name() -> Any:
    """Inputs and outputs by name; the names stand in another order than their layers."""
    image, size = keras.Input((4, 4, 1), name="image"), keras.Input((2,), name="size")
    x = layers.Flatten()(layers.Conv2D(3, 3)(image))
    x = layers.BatchNormalization(momentum=0.5)(layers.Concatenate()([x, size]))
    outputs = {
        "parity": layers.Dense(1, activation="sigmoid", name="parity")(x),
        "digit": layers.Dense(4, activation="softmax", name="digit")(x),
    }
    return keras.Model({"size": size, "image": image}, outputs)


LOSSES = {"digit": "sparse_categorical_crossentropy", "parity": "binary_crossentropy"}
METRICS = {"digit": ["accuracy"], "parity": ["accuracy", "mae"]}
X = {"image": numbers(4, 4, 1), "size": numbers(2)}
Y = {"digit": whole(4), "parity": whole(2, 1).astype(np.float32)}


def test_two_inputs_and_two_outputs_by_name(convert: Convert) -> None:
    model = two_by_name()
    settings = {"loss": LOSSES, "loss_weights": {"parity": 0.3}, "metrics": METRICS}
    bundle = convert(model, BATCH, **settings)
    manifest = bundle.manifest
    assert [port["name"] for port in manifest["inputs"]] == ["image", "size"]
    assert manifest["labels"] == [
        {"name": "digit", "shape": [], "dtype": "int32", "classes": 4},
        {"name": "parity", "shape": [1], "dtype": "float32"},
    ]
    assert [port["loss"] for port in manifest["outputs"]] == [LOSSES["digit"], LOSSES["parity"]]
    model.compile(**settings | {"loss_weights": {"digit": 1.0, "parity": 0.3}})
    check_step(bundle, model, X, Y)


def test_the_compiled_model_says_losses_weights_and_metrics(convert: Convert) -> None:
    model = two_by_name()
    model.compile(
        optimizer="adam",
        loss={"digit": keras.losses.SparseCategoricalCrossentropy(), "parity": keras.losses.Poisson()},
        loss_weights={"digit": 0.5, "parity": 2.0},
        metrics={"digit": "accuracy", "parity": [keras.metrics.AUC(20, name="area")]},
        weighted_metrics={"digit": ["accuracy"], "parity": ["mae"]},
    )
    model.optimizer.build(model.trainable_variables)
    bundle = convert(model, BATCH, loss=None, optimizer=None)
    names = [metric["name"] for metric in bundle.manifest["metrics"]]
    assert names == [
        "digit_loss",
        "digit_accuracy",
        "digit_weighted_accuracy",
        "parity_loss",
        "parity_area",
        "parity_mae",
    ]
    check_step(bundle, model, X, Y)


def test_losses_of_the_task_file_leave_the_compiled_weights_behind(convert: Convert) -> None:
    model = two_by_name()
    model.compile("sgd", LOSSES, loss_weights={"digit": 0.5, "parity": 2.0})
    bundle = convert(model, BATCH, loss=LOSSES)
    model.compile("sgd", LOSSES)
    check_step(bundle, model, X, Y)


def test_an_output_without_loss_needs_no_labels(convert: Convert) -> None:
    x = keras.Input((3,))
    hidden = layers.Dense(4, activation="tanh", name="hidden")(x)
    model = keras.Model(x, [hidden, layers.Dense(2, name="answer")(hidden)])
    bundle = convert(model, BATCH, loss={"answer": "mse"}, metrics={"answer": ["mae"]})
    assert [port["name"] for port in bundle.manifest["labels"]] == ["answer"]
    assert bundle.manifest["outputs"][0] == {"name": "hidden", "shape": [4], "dtype": "float32"}
    predicted = run(bundle, "predict", [numbers(3)], [])
    first, second = model(numbers(3))
    assert relative_error(predicted["output_0"], first) <= TOLERANCE
    assert relative_error(predicted["output_1"], second) <= TOLERANCE
    single = keras.Model(x, model.outputs[1])
    single.compile(loss="mse", metrics=["mae"])
    y = numbers(2)
    done = run(bundle, "train", [numbers(3)], [y])
    expected = single.compute_loss(None, y[:ROWS], single(numbers(3)[:ROWS]), WEIGHT[:ROWS])
    assert relative_error(done["loss"], expected) <= TOLERANCE


def tagger(*middle: Any) -> Any:
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(9, 4, mask_zero=True)(tokens)
    for layer in middle:
        x = layer(x)
    return keras.Model(tokens, layers.Dense(3, activation="softmax")(x))


TAGGERS = {
    "lstm": lambda: tagger(layers.LSTM(4, return_sequences=True)),
    "gru": lambda: tagger(layers.GRU(4, return_sequences=True)),
    "bidirectional": lambda: tagger(layers.Bidirectional(layers.LSTM(3, return_sequences=True))),
    "backwards": lambda: tagger(layers.GRU(4, return_sequences=True, go_backwards=True)),
    "stacked": lambda: tagger(layers.LSTM(4, return_sequences=True), layers.GRU(4, return_sequences=True)),
    "normalized": lambda: tagger(layers.BatchNormalization(momentum=0.5)),
    "dense": lambda: tagger(layers.Dense(4, activation="relu"), layers.LayerNormalization()),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("gru", "bidirectional", "dense") else pytest.mark.long)
        for name in TAGGERS
    ],
)
def test_masked_positions_do_not_count(convert: Convert, name: str) -> None:
    model = TAGGERS[name]()
    settings = {"loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"]}
    bundle = convert(model, BATCH, **settings)
    x, y = whole(9, 6), whole(3, 6)
    # Masked at the beginning, inside and at the end.
    x[:, 4:] *= whole(2, 2)
    x[:2, 0] = 0
    model.compile(**settings)
    check_step(bundle, model, x, y, np.repeat(WEIGHT[:, None], 6, 1))


def test_a_mask_may_end_inside_the_model(convert: Convert) -> None:
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(9, 4, mask_zero=True)(tokens)
    attended = layers.MultiHeadAttention(2, 2)(x, x)
    pooled = layers.GlobalAveragePooling1D()(attended)
    model = keras.Model(tokens, layers.Dense(1)(layers.Concatenate()([pooled, layers.LSTM(3)(x)])))
    bundle = convert(model, BATCH, loss="mse")
    x, y = whole(9, 6), numbers(1)
    x[:, 0], x[0, 3:] = 1, 0
    model.compile(loss="mse")
    check_step(bundle, model, x, y)


def test_an_activity_regularizer_counts_rows_that_exist(convert: Convert) -> None:
    x = keras.Input((6, 2))
    hidden = layers.Dense(4, activation="tanh", activity_regularizer=keras.regularizers.L1L2(0.1, 0.2))(x)
    hidden = layers.ActivityRegularization(l2=0.3)(layers.Flatten()(hidden))
    model = keras.Model(x, layers.Dense(1)(hidden))
    bundle = convert(model, BATCH, loss="mse")
    model.compile(loss="mse")
    check_step(bundle, model, numbers(6, 2), numbers(1))
    evaluated = run(bundle, "evaluate", [numbers(6, 2)], [numbers(1)])
    output = model(numbers(6, 2)[:ROWS])
    expected = model.compute_loss(None, numbers(1)[:ROWS], output, WEIGHT[:ROWS])
    assert relative_error(evaluated["loss"], expected) <= TOLERANCE


CLASS_WEIGHT = (0.5, 3.0, 0.0)


@pytest.mark.parametrize(
    ("loss", "columns"),
    [("sparse_categorical_crossentropy", 3), ("categorical_crossentropy", 3), ("binary_crossentropy", 1)],
)
def test_class_weights_are_those_of_fit(convert: Convert, loss: str, columns: int) -> None:
    model = keras.Sequential(
        [keras.Input((4,)), layers.Dense(columns, activation="softmax" if columns > 1 else "sigmoid")]
    )
    weights = CLASS_WEIGHT[: max(columns, 2)]
    settings: dict[str, Any] = {"loss": loss, "metrics": ["accuracy"]}
    bundle = convert(model, BATCH, class_weight=weights, **settings)
    x, numbered = numbers(4), whole(max(columns, 2))
    y: Any = numbered
    if loss.startswith("categorical"):
        y = np.eye(columns, dtype=np.float32)[numbered]
    if columns == 1:
        y = numbered[:, None].astype(np.float32)
    exists = (WEIGHT > 0).astype(np.float32)
    done = run(bundle, "train", [x], [y], exists)
    plain = run(bundle, "evaluate", [x], [y], exists)
    model.compile(optimizer=keras.optimizers.SGD(1.0), **settings)
    expected = model.evaluate(x[:ROWS], y[:ROWS], verbose=0)[0]
    assert relative_error(plain["loss"], expected) <= TOLERANCE
    before = [np.asarray(v) for v in model.trainable_variables]
    fitted = model.train_on_batch(x[:ROWS], y[:ROWS], class_weight=dict(enumerate(weights)), return_dict=True)
    assert relative_error(done["loss"], fitted["loss"]) <= TOLERANCE
    assert metric_values(bundle.manifest, done)["accuracy"] == pytest.approx(float(fitted["accuracy"]))
    moved = [old - np.asarray(new) for old, new in zip(before, model.trainable_variables, strict=True)]
    assert relative_error(done["gradient"], np.concatenate([m.ravel() for m in moved])) <= 1e-4


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"loss": {"number": "mse"}}, "names the output number; the model has digit, parity"),
        ({"loss": ["mse"]}, "1 entries, but the model has the outputs digit, parity"),
        ({"loss": LOSSES, "metrics": ["accuracy"]}, "`metrics` has 1 entries"),
        ({"loss": LOSSES, "class_weight": (1.0, 2.0)}, "one output"),
        ({"loss": {}}, "No loss"),
        ({"loss": LOSSES, "metrics": {"parity": ["mae"] * 15}}, "17 metrics; at most 16"),
    ],
)
def test_what_does_not_fit_the_outputs_is_refused(convert: Convert, settings: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        convert(two_by_name(), BATCH, **settings)
    assert caught.value.code == "bad-task"


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        (layers.Softmax(axis=0, name="odd"), "odd works across the examples"),
        (layers.Dense(2, activity_regularizer="orthogonal_regularizer", name="odd"), "odd has the activity"),
    ],
)
def test_a_layer_that_mixes_rows_is_refused(convert: Convert, layer: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        convert(keras.Sequential([keras.Input((4,)), layer, layers.Dense(1)]))


def test_metrics_in_the_place_of_loss_weights_are_told(convert: Convert) -> None:
    model = two_by_name()
    model.compile("adam", dict.fromkeys(("digit", "parity"), "mse"), ["accuracy", "mae"])
    with pytest.raises(Refusal, match=r"'accuracy' as a weight of its loss, which is no number"):
        convert(model, BATCH, loss=None, optimizer=None, metrics=None)
