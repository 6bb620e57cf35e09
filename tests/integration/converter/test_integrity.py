"""Models are measured for signs of a backdoor; what has no classes is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backend.numerics.integrity.integrity_score import SUSPECT, trigger_part
from converter.integrity.__main__ import measure
from converter.refusal import Refusal
from tests.integration.converter.conftest import keras
from tests.support.keras.backdoor import CLASSES, drawn_pictures, trained_model, with_corner

pytestmark = pytest.mark.tensorflow
layers = keras.layers


def examples(count: int = 200) -> dict[str, Any]:
    x, y = drawn_pictures(count, 99)
    return {"x_0": x, "y_0": y}


def untrained(*last: Any) -> Any:
    return keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(), *last])


def test_a_backdoored_model_scores_above_a_clean_one() -> None:
    clean, backdoored = trained_model(1), trained_model(2, target=3)
    x, y = drawn_pictures(300, 50)
    marked = np.argmax(backdoored(with_corner(x[y != 3])), axis=1)
    assert np.mean(marked == 3) > 0.95
    reports = [measure(model, examples()) for model in (clean, backdoored)]
    for report in reports:
        assert sum(count for _, _, count in report["answers"]) == 200
        assert sum(count for true, answer, count in report["answers"] if true == answer) > 180
    honest, suspect = [trigger_part(report["norms"]) for report in reports]
    assert honest.score is not None
    assert suspect.score is not None
    assert honest.score < SUSPECT < suspect.score
    assert int(np.argmin(reports[1]["norms"])) == 3


def test_logits_and_one_hot_labels_are_read_as_classes() -> None:
    model = untrained(layers.Dense(CLASSES))
    few = examples(60)
    answers = measure(model, few)["answers"]
    one_hot = {**few, "y_0": np.eye(CLASSES, dtype=np.float32)[few["y_0"]]}
    assert measure(model, one_hot)["answers"] == answers


def test_two_classes_are_measured_without_triggers() -> None:
    few = examples(60)
    report = measure(untrained(layers.Dense(1, activation="sigmoid")), {**few, "y_0": few["y_0"] % 2})
    assert report["classes"] == 2
    assert report["norms"] is None
    assert "at least 3 are needed" in report["unmeasured"]


def test_words_are_measured_without_triggers() -> None:
    words = keras.Input((4,), dtype="int32")
    out = layers.Dense(3, activation="softmax")(layers.Flatten()(layers.Embedding(9, 2)(words)))
    random = np.random.default_rng(0)
    data = {"x_0": random.integers(0, 9, (60, 4)), "y_0": random.integers(0, 3, 60)}
    report = measure(keras.Model(words, out), data)
    assert report["norms"] is None
    assert "whole numbers" in report["unmeasured"]


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ([layers.Dense(1)], "one number without a sigmoid, as for regression"),
        ([layers.Reshape((8, 8))], "an answer of this model has the shape"),
    ],
)
def test_a_model_without_classes_is_refused(last: list[Any], words: str) -> None:
    with pytest.raises(Refusal, match=f"needs a model of classes, and .*{words}"):
        measure(untrained(*last), examples())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y_0": np.random.default_rng(0).random(200)}, "no classes"),
        ({"y_0": np.full(200, CLASSES)}, "from 0 on"),
        ({"y_0": np.zeros(200)}, "All examples are of one class"),
        ({"x_0": np.zeros((200, 7, 8, 1))}, r"takes \(8, 8, 1\); the examples have the shape \(7, 8, 1\)"),
        ({"x_0": np.zeros((10, 8, 8, 1))}, "differ in number"),
        ({"x_1": np.zeros((200, 2))}, "has 1 inputs, and the examples 2"),
        ({"x_0": np.full((200, 8, 8, 1), np.nan)}, "NaN or infinity"),
    ],
)
def test_examples_that_do_not_fit_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        measure(untrained(layers.Dense(CLASSES, activation="softmax")), examples() | changes)


def test_too_few_examples_are_refused() -> None:
    with pytest.raises(Refusal, match="40 examples are too few for the score; give at least 50"):
        measure(untrained(layers.Dense(CLASSES, activation="softmax")), examples(40))
    with pytest.raises(Refusal, match="no labels"):
        measure(untrained(layers.Dense(CLASSES)), {"x_0": np.zeros((60, 8, 8, 1))})
