"""Every loss of Keras: value and gradient of a padded, weighted batch are those of Keras on its real rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest
from numpy.typing import NDArray

from converter.objectives.losses import LOSSES, OutputLoss, compiled_loss, named_loss
from converter.refusal import Refusal
from converter.tracing.model_ports import Port
from tests.integration.converter.objectives.graph_measurement import (
    BATCH,
    ROWS,
    Measured,
    batch,
    by_keras,
    chances,
    in_a_graph,
    masked,
    probabilities,
)
from tests.support.keras.native import relative_error
from tests.support.keras.values import class_numbers, counts, events, numbers, one_hot

pytestmark = pytest.mark.tensorflow
TOLERANCE = 1e-5


def directions(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    vectors = generator.normal(0.0, 1.0, shape)
    directed: NDArray[Any] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return directed.astype(np.float32)


def two_classes(generator: np.random.Generator, shape: tuple[int, ...]) -> NDArray[Any]:
    return (np.arange(shape[0]) // 2 % 2).astype(np.int32)


# Name, settings, makers of labels and outputs.
LOSS_TABLE: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("mean_squared_error", {}, numbers, numbers),
    ("mse", {"reduction": "sum"}, numbers, numbers),
    ("mae", {"reduction": "mean_with_sample_weight"}, numbers, numbers),
    ("MAPE", {}, numbers, numbers),
    ("mean_squared_logarithmic_error", {}, counts, chances),
    ("cosine_similarity", {}, numbers, numbers),
    ("huber", {}, numbers, numbers),
    ("Huber", {"delta": 0.3}, numbers, numbers),
    ("log_cosh", {}, numbers, numbers),
    ("quantile", {"quantile": 0.9}, numbers, numbers),
    ("hinge", {}, events, numbers),
    ("squared_hinge", {}, events, numbers),
    ("categorical_hinge", {}, one_hot, numbers),
    ("kld", {}, probabilities, probabilities),
    ("poisson", {}, counts, chances),
    ("binary_crossentropy", {}, events, chances),
    ("bce", {"from_logits": True, "label_smoothing": 0.1}, events, numbers),
    ("binary_focal_crossentropy", {}, events, chances),
    (
        "binary_focal_crossentropy",
        {"apply_class_balancing": True, "alpha": 0.3, "gamma": 1.5, "from_logits": True},
        events,
        numbers,
    ),
    ("categorical_crossentropy", {}, one_hot, probabilities),
    ("categorical_crossentropy", {"from_logits": True, "label_smoothing": 0.2}, one_hot, numbers),
    ("categorical_focal_crossentropy", {}, one_hot, probabilities),
    ("categorical_focal_crossentropy", {"from_logits": True, "alpha": 0.5}, one_hot, numbers),
    ("sparse_categorical_crossentropy", {}, class_numbers, probabilities),
    ("sparse_categorical_crossentropy", {"from_logits": True}, class_numbers, numbers),
    ("sparse_categorical_crossentropy", {"ignore_class": 2}, class_numbers, probabilities),
    ("categorical_generalized_cross_entropy", {}, class_numbers, probabilities),
    ("dice", {}, events, chances),
    ("tversky", {"alpha": 0.3, "beta": 0.7}, events, chances),
]  # fmt: skip
OVER_ROWS: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("dice", {"axis": [1]}, events, chances),
    ("dice", {"axis": [0]}, events, chances),
    ("tversky", {"axis": [1, 0]}, events, chances),
    ("circle", {}, two_classes, directions),
    ("circle", {"gamma": 20.0, "margin": 0.2, "remove_diagonal": False}, two_classes, directions),
]


def keras_loss(name: str, settings: dict[str, Any]) -> Any:
    if name == "quantile":
        return lambda y, p: keras.ops.mean(keras.ops.where(y > p, 0.9 * (y - p), 0.1 * (p - y)), axis=-1)
    return LOSSES[name](**settings)


def check(loss: OutputLoss, theirs: Any, measured: Measured, weighted: bool = True) -> None:
    if not weighted:
        measured = measured.unweighted()
    value, slope = in_a_graph(loss.of, measured)
    expected, expected_slope, _ = by_keras(measured.short(), weighted, loss=theirs)
    assert relative_error(value, expected) <= TOLERANCE
    assert relative_error(slope[:ROWS], expected_slope) <= TOLERANCE
    assert not slope[ROWS:].any()
    assert np.linalg.norm(expected_slope) > 1e-4


@pytest.mark.parametrize("inner", [(), (3,)], ids=["vectors", "sequences"])
@pytest.mark.parametrize("entry", LOSS_TABLE, ids=lambda e: f"{e[0]}-{'-'.join(e[1])}")
def test_a_loss_equals_keras_train_step(entry: Any, inner: tuple[int, ...]) -> None:
    name, settings, y, output = entry
    check(named_loss(name, settings), keras_loss(name, settings), batch(y, output, inner, 0.25))


@pytest.mark.parametrize("entry", OVER_ROWS, ids=lambda e: f"{e[0]}-{'-'.join(e[1])}")
def test_a_loss_over_the_rows_of_a_batch_leaves_out_padding(entry: Any) -> None:
    name, settings, y, output = entry
    # Keras cannot weight a loss for each column.
    weighted = settings.get("axis") != [0]
    check(named_loss(name, settings), keras_loss(name, settings), batch(y, output, (), 0.5), weighted)


MASKED = [e for e in LOSS_TABLE if e[0] not in ("dice", "tversky")]


@pytest.mark.parametrize("entry", MASKED, ids=lambda e: f"{e[0]}-{'-'.join(e[1])}")
def test_masked_positions_count_as_in_keras(entry: Any) -> None:
    name, settings, y, output = entry
    measured = masked(batch(y, output, (3,), 0.25))
    check(named_loss(name, settings), keras_loss(name, settings), measured)


def test_a_mask_that_leaves_nothing_gives_no_loss() -> None:
    measured = replace(batch(numbers, numbers, (3,), 0.0), mask=np.zeros((BATCH, 3), bool))
    value, slope = in_a_graph(named_loss("mse", {}).of, measured)
    assert value == 0.0
    assert not slope.any()


def test_a_loss_of_whole_sequences_cannot_take_a_mask() -> None:
    measured = masked(batch(events, chances, (3,), 0.25))
    with pytest.raises(Refusal, match="positions that a mask tells apart"):
        in_a_graph(named_loss("dice", {"axis": [1, 2]}).of, measured)


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
def test_labels_of_hinge_losses_may_be_minus_one_and_one(name: str) -> None:
    measured = batch(lambda g, shape: 2.0 * events(g, shape) - 1.0, numbers, (), 3.0)
    check(named_loss(name, {}), name, measured)


COMPILED = [
    ("mse", "mean_squared_error"),
    ("KLD", "kl_divergence"),
    (keras.losses.mean_squared_error, "mean_squared_error"),
    (keras.losses.BinaryFocalCrossentropy(gamma=1.5), "binary_focal_crossentropy"),
    ("huber", "huber"),
    (keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum"), "binary_crossentropy"),
    (keras.losses.get("poisson"), "poisson"),
]


@pytest.mark.parametrize(("given", "name"), COMPILED)
def test_a_compiled_loss_is_taken_over_with_its_settings(given: Any, name: str) -> None:
    loss = compiled_loss(given)
    assert loss.name == name
    if isinstance(given, keras.losses.Loss):
        assert loss.loss.get_config() == given.get_config()


def test_every_loss_of_keras_has_a_row_in_the_tables() -> None:
    tested = {LOSSES[entry[0]] for entry in LOSS_TABLE + OVER_ROWS}
    assert tested == set(LOSSES.values())


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: named_loss("ctc", {}), "loss ctc"),
        (lambda: named_loss("crossentropy", {}), "sparse_categorical_crossentropy"),
        (lambda: named_loss("huber", {"slope": 1}), "no setting `slope`; it has delta"),
        (lambda: named_loss("huber", {"reduction": "most"}), "cannot have these settings"),
        (lambda: named_loss("mse", {"reduction": "none"}), "not reduced to one number"),
        (lambda: named_loss("quantile", {"quantile": 1.5}), "between 0 and 1"),
        (lambda: named_loss("cosine_similarity", {"axis": 0}), "axis 0"),
        (lambda: compiled_loss(keras.losses.CTC()), "loss ctc"),
        (lambda: compiled_loss(keras.losses.Huber(0.5)), "delta"),
    ],
)
def test_a_loss_that_cannot_be_is_refused_in_a_sentence(make: Any, text: str) -> None:
    with pytest.raises(Refusal, match=text) as caught:
        make()
    assert caught.value.code == "bad-task"
    assert str(caught.value).endswith(".")


def test_labels_follow_from_the_loss() -> None:
    output = Port("digit", (5, 10), "float32")
    assert named_loss("mse", {}).label(output) == output
    sparse = named_loss("sparse_categorical_crossentropy", {})
    assert sparse.label(output) == Port("digit", (5,), "int32", 10)
    ignoring = named_loss("sparse_categorical_crossentropy", {"ignore_class": -1})
    assert ignoring.label(output) == Port("digit", (5,), "int32")
    assert named_loss("circle", {}).label(Port("vector", (8,), "float32")) == Port("vector", (), "int32")
