"""No bundle trains otherwise than Keras: what once did is right or refused, and the comparison finds it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from converter.bundle import bundle_writer
from converter.objectives import losses, own_losses
from converter.optimizers import optimizer_factory
from converter.refusal import Refusal
from converter.tracing import tracer
from converter.validation.second_opinion import step_pair
from converter.validation.second_opinion.opinion import refusal_of
from tests.integration.converter import own_code
from tests.integration.converter.conftest import Convert

pytestmark = pytest.mark.tensorflow
layers = keras.layers
CUSTOM = Path(own_code.__file__)
DIFFERS = "would not train as Keras does"


@pytest.fixture(autouse=True)
def seed() -> Iterator[None]:
    keras.utils.set_random_seed(3)
    yield
    keras.backend.clear_session()


def compiled(loss: Any = "mse", optimizer: Any = "sgd", kind: Any = keras.Model, middle: Any = None) -> Any:
    x = keras.Input((4,))
    hidden = layers.Dense(3, activation="tanh")(x)
    model = kind(x, layers.Dense(2)(middle(hidden) if middle else hidden))
    model.compile(optimizer, loss)
    # Keras builds the optimizer on loading, and wants it as it was saved.
    model.optimizer.build(model.trainable_variables)
    return model


def named_like_outputs() -> Any:
    x = keras.Input((4,))
    hidden = layers.Dense(3, name="metrics")(layers.Dense(3, name="loss")(x))
    model = keras.Model(x, layers.Dense(2, name="output_0")(layers.Dense(3, name="gradient")(hidden)))
    model.compile("sgd", "mse")
    return model


def as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the mends and refusals back, so that only the comparison with Keras is left."""
    monkeypatch.setattr(losses.OutputLoss, "fitted", lambda self, _output: self)
    monkeypatch.setattr(losses, "check_own_loss", lambda _loss: None)
    monkeypatch.setattr(own_losses, "check_own_loss", lambda _loss: None)
    monkeypatch.setattr(optimizer_factory, "refuse_own_optimizer", lambda _optimizer: None)
    monkeypatch.setattr(bundle_writer, "refuse_own_training", lambda _model: None)
    monkeypatch.setattr(tracer, "state_without_gradient", nullcontext)


CASES: dict[str, tuple[Callable[[], Any], str | None]] = {
    "a loss of the batch": (lambda: compiled(own_code.mean_of_batch), None),
    "a loss of the batch in TensorFlow": (lambda: compiled(own_code.mean_of_tensorflow), None),
    "a loss with its own __call__": (lambda: compiled(own_code.Weighed()), "has its own __call__"),
    "an optimizer named like Keras'": (lambda: compiled(optimizer=own_code.SGD()), "SGD is own code"),
    "an own train_step": (lambda: compiled(kind=own_code.OwnStep), "OwnStep has its own train_step"),
    "an own compute_loss": (lambda: compiled(kind=own_code.OwnLoss), "OwnLoss has its own compute_loss"),
    "state read after it was assigned": (lambda: compiled(middle=own_code.ReadsAssigned()), None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_once_trained_otherwise_is_right_or_refused(case: str, convert: Convert) -> None:
    build, refused = CASES[case]
    if refused is None:
        bundle = convert(build(), 8, custom=CUSTOM, loss=None, optimizer=None)
        assert bundle.manifest["checked"]["worst"] <= 1e-4
    else:
        with pytest.raises(Refusal, match=refused):
            convert(build(), 8, custom=CUSTOM, loss=None, optimizer=None)


@pytest.mark.parametrize("case", CASES)
def test_without_the_comparison_it_trains_otherwise_without_a_word(
    case: str, convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_before(monkeypatch)
    monkeypatch.setattr(bundle_writer, "second_opinion", lambda *_: {"worst": 0.0})
    convert(CASES[case][0](), 8, custom=CUSTOM, loss=None, optimizer=None)


@pytest.mark.parametrize("case", CASES)
def test_the_comparison_alone_finds_it(case: str, convert: Convert, monkeypatch: pytest.MonkeyPatch) -> None:
    as_before(monkeypatch)
    with pytest.raises(Refusal, match=DIFFERS):
        convert(CASES[case][0](), 8, custom=CUSTOM, loss=None, optimizer=None)


def test_layers_may_be_named_like_the_outputs_of_graphs(convert: Convert) -> None:
    manifest = convert(named_like_outputs(), 8, loss=None, optimizer=None).manifest
    names = {name: [out["name"] for out in s["outputs"]] for name, s in manifest["signatures"].items()}
    assert names["train"] == ["loss", "gradient"]
    assert names["predict"] == ["output_0"]


def test_a_model_without_a_gradient_is_refused(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, keras.ops.round(layers.Dense(2)(x)))
    with pytest.raises(Refusal, match="The loss has no gradient"):
        convert(model, 8)


def test_numbers_that_keras_cannot_compute_either_are_refused(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, keras.ops.log(-1.0 - keras.ops.square(layers.Dense(2)(x))))
    with pytest.raises(Refusal, match="Keras' own numbers are not finite"):
        convert(model, 8)


def test_a_loss_that_is_no_number_from_the_second_step_on_is_refused(convert: Convert) -> None:
    with pytest.raises(Refusal, match=r"not finite: .* training step 2|not finite: .* gradient of step 2"):
        convert(
            compiled(own_code.steep, keras.optimizers.SGD(1e5)), 8, custom=CUSTOM, loss=None, optimizer=None
        )


def test_a_compute_loss_that_writes_a_file_is_refused_before_it_is_called(convert: Convert) -> None:
    with pytest.raises(Refusal, match="WritesFile has its own compute_loss"):
        convert(compiled(kind=own_code.WritesFile), 8, custom=CUSTOM, loss=None, optimizer=None)
    assert not own_code.WritesFile.LEFT.exists()


def test_state_that_changes_outside_of_training_is_named_in_a_warning(convert: Convert) -> None:
    model = compiled(middle=own_code.ReadsAssigned())
    (warning,) = convert(model, 8, custom=CUSTOM, loss=None, optimizer=None).manifest["warnings"]
    assert "outside of training, too" in warning


def test_a_step_that_keras_cannot_take_is_refused_with_its_own_words(convert: Convert) -> None:
    with pytest.raises(Refusal, match=r"calling OnlyInGraphs\.call\(\).*this layer wants a graph"):
        convert(compiled(middle=own_code.OnlyInGraphs()), 8, custom=CUSTOM, loss=None, optimizer=None)


def test_draws_that_cannot_be_repeated_leave_predictions_and_the_step(convert: Convert) -> None:
    model = compiled(middle=own_code.DrawsAcross())
    checked = convert(model, 8, custom=CUSTOM, loss=None, optimizer=None).manifest["checked"]
    assert checked["random"] == "inference"
    assert {"outputs", "loss", "vector"} <= set(checked["differences"])
    assert checked["worst"] <= 1e-4


def test_the_area_under_a_curve_of_numbers_that_are_no_probabilities_is_refused(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(1)(x))
    model.compile("sgd", keras.losses.BinaryCrossentropy(from_logits=True), metrics=["auc"])
    with pytest.raises(Refusal, match=r"auc wants probabilities, .*from_logits = true") as caught:
        convert(model, 8, loss=None, optimizer=None)
    assert caught.value.code == "bad-task"


def test_random_layers_are_compared_with_the_same_draws(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(
        x, layers.Dense(2)(layers.Dropout(0.5)(layers.GaussianNoise(0.3)(layers.Dense(6)(x))))
    )
    checked = convert(model, 8).manifest["checked"]
    assert (checked["random"], checked["worst"] <= 1e-4) == ("fixed", True)


@pytest.mark.parametrize(
    "loss", [keras.losses.Dice(axis=(1, 2, 3)), own_code.overlap_of_masks], ids=["Keras' own", "own"]
)
def test_a_loss_of_one_number_an_image_trains_as_in_keras(loss: Any, convert: Convert) -> None:
    x = keras.Input((6, 6, 2))
    model = keras.Model(x, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile("sgd", loss, metrics=["mae"])
    checked = convert(model, 8, custom=CUSTOM, loss=None, optimizer=None).manifest["checked"]
    assert checked["worst"] <= 1e-4


def test_what_cancels_out_in_a_gradient_is_no_difference(convert: Convert) -> None:
    x = keras.Input((1,), dtype="int32")
    rows = [layers.Embedding(4, 8)(keras.ops.floor_divide(x, 3)), layers.Embedding(3, 8)(keras.ops.mod(x, 3))]
    outputs = layers.Dense(1, activation="sigmoid")(layers.Flatten()(rows[0] * rows[1]))
    model = keras.Model(x, outputs)
    model.compile("adam", "binary_crossentropy")
    assert convert(model, 8, loss=None, optimizer=None).manifest["checked"]["worst"] <= 1e-2


def normalized_alone() -> Any:
    """Keras' example of a transformer for time series: a number is normalized by itself."""
    x = keras.Input((500, 1))
    hidden = x
    for _ in range(4):
        hidden = layers.LayerNormalization(epsilon=1e-6)(hidden) + hidden
    pooled = layers.GlobalAveragePooling1D()(hidden)
    model = keras.Model(x, layers.Dense(2, activation="softmax")(layers.Dense(32, activation="relu")(pooled)))
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


def test_keras_own_rounding_is_told_by_float64(convert: Convert) -> None:
    bundle = convert(normalized_alone(), 4, loss=None, optimizer=None)
    assert 1e-4 < bundle.manifest["checked"]["differences"]["gradient"] < 1e-2
    assert keras.config.floatx() == "float32"


def test_without_float64_that_rounding_would_be_a_difference(
    convert: Convert, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_pair, "float64_noise", lambda *_: {})
    with pytest.raises(Refusal, match=DIFFERS):
        convert(normalized_alone(), 4, loss=None, optimizer=None)


def test_a_model_of_parts_with_an_own_step_is_refused_for_its_step(convert: Convert) -> None:
    model = own_code.Parts(keras.Sequential([keras.Input((4,)), layers.Dense(2)]))
    model(np.zeros((1, 4), np.float32))
    with pytest.raises(Refusal, match="Parts has its own train_step"):
        convert(model, 8, custom=CUSTOM)


def test_losses_of_layers_alone_are_refused_with_what_they_need(convert: Convert) -> None:
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(2, activity_regularizer="l2")(x))
    model.compile("sgd", None)
    with pytest.raises(Refusal, match=r"compiled without a loss; .*add_loss\) count beside it"):
        convert(model, 8, loss=None, optimizer=None)


@pytest.mark.parametrize(("moves", "sentence"), [(0.03, "Float32 is not precise"), (1e-6, "own layers")])
def test_a_difference_by_rounding_is_no_fault_of_the_code(moves: float, sentence: str) -> None:
    wrong = {"the gradient of a": 0.3, "the gradient of b": 0.5}
    refusal = refusal_of(wrong, {"the gradient of b": moves})
    assert re.search(sentence, str(refusal))
    assert "the gradient of b differs by 0.5" in str(refusal)
