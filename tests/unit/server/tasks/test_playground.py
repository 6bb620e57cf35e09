"""How people try a model follows from the task's data, and [try] has to fit them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.errors import TaskFileError
from backend.formats.manifest import Manifest
from backend.formats.task_file import parse_task
from backend.server.tasks.playground import Playground, playground_of
from backend.server.tasks.task_data import own_data
from tests.support.tasks import tiny_task

ROOT = Path(__file__).parents[4]

# What each task's model takes and gives, and how it is measured.
MODELS: dict[str, tuple[list[int], str, list[int], str]] = {
    "models/digits": ([8, 8, 1], "float32", [10], "sparse_categorical_crossentropy"),
    "models/cifar10": ([32, 32, 3], "float32", [10], "sparse_categorical_crossentropy"),
    "models/titanic": ([10], "float32", [1], "binary_crossentropy"),
    "models/shakespeare": ([64], "int32", [64, 65], "sparse_categorical_crossentropy"),
    "models/text-lstm": ([40], "int32", [40, 65], "sparse_categorical_crossentropy"),
    "starters/image": ([64, 64, 3], "float32", [2], "sparse_categorical_crossentropy"),
    "starters/table": ([6], "float32", [1], "binary_crossentropy"),
    "starters/text": ([256], "int32", [2], "sparse_categorical_crossentropy"),
    "starters/series": ([48, 1], "float32", [1], "mse"),
}


def manifest_of(task: str) -> Manifest:
    given, dtype, answer, loss = MODELS[task]
    tables = tiny_task.manifest({}, 0)
    tables["inputs"] = [{"name": "x", "shape": given, "dtype": dtype}]
    tables["outputs"] = [{"name": "y", "shape": answer, "dtype": "float32", "loss": loss}]
    index = loss.startswith("sparse")
    shape = answer[:-1] if index else [1]
    tables["labels"] = [{"name": "y", "shape": shape, "dtype": "int32" if index else "float32"}]
    return msgspec.convert(tables, Manifest)


def tried(task: str, change: Callable[[dict[str, Any]], None] = lambda _: None) -> Playground | None:
    tables = tomllib.loads((ROOT / task / "task.toml").read_text("utf-8"))
    change(tables)
    file = parse_task(tables, task)
    manifest = manifest_of(task)
    # The shards of digits come without: its script writes them by itself.
    data = own_data(file.data.preprocess, manifest) if task != "models/digits" else None
    return playground_of(file, data, manifest)


@pytest.mark.parametrize(
    ("task", "kind", "labels"),
    [
        ("models/digits", "draw", [str(digit) for digit in range(10)]),
        ("models/cifar10", "picture", ["airplane", "automobile"]),
        ("models/titanic", "row", ["did not survive", "survived"]),
        ("models/shakespeare", "prompt", []),
        ("models/text-lstm", "prompt", []),
        ("starters/image", "picture", ["cat", "dog"]),
        ("starters/table", "row", ["no", "yes"]),
        ("starters/text", "text", ["friendly", "unfriendly"]),
        ("starters/series", "numbers", ["the next value"]),
    ],
)
def test_every_task_of_the_gallery_and_every_starter_can_be_tried(
    task: str, kind: str, labels: list[str]
) -> None:
    trial = tried(task)
    assert trial is not None
    assert (trial.kind, trial.labels[: len(labels)]) == (kind, labels)
    assert trial.chances == (task != "starters/series")


def test_the_form_of_a_row_has_a_field_for_each_column_with_the_example_in_it() -> None:
    trial = tried("models/titanic")
    assert trial is not None
    fields = {field.title: field for field in trial.fields}
    assert fields["Class"].categories == ["1", "2", "3"]
    assert [fields[title].value for title in ("Class", "Sex", "Age", "Siblings, spouses")] == [
        "3",
        "male",
        "34.5",
        "0",
    ]
    assert [title for title, field in fields.items() if field.optional] == ["Age", "Fare in pounds"]


def test_without_an_example_a_field_that_must_not_be_empty_holds_the_first_category() -> None:
    trial = tried("models/titanic", lambda tables: tables.pop("try"))
    assert trial is not None
    assert [field.value for field in trial.fields] == ["1", "female", "", "", "", ""]
    assert trial.labels == ["0", "1"]


def test_a_series_begins_with_as_many_numbers_as_the_model_takes() -> None:
    trial = tried("starters/series")
    assert trial is not None
    assert len(trial.example.split()) == trial.length == 48


def test_logits_are_told_by_the_loss() -> None:
    loss = {"name": "sparse_categorical_crossentropy", "from_logits": True}
    trial = tried("models/cifar10", lambda tables: tables["model"].update(loss=loss))
    assert trial is not None
    assert trial.logits


def test_logits_are_told_by_the_first_loss_of_an_objective_that_takes_the_output() -> None:
    def joint(tables: dict[str, Any], logits: bool) -> None:
        tables["model"].pop("loss", None)
        loss = {"output": "y", "name": "sparse_categorical_crossentropy", "from_logits": logits}
        tables["model"]["objectives"] = [{"losses": [{"output": "other", "name": "mse"}, loss]}]

    for logits in (True, False):
        trial = tried("models/cifar10", partial(joint, logits=logits))
        assert trial is not None
        assert trial.logits == logits


def test_arrays_that_nobody_writes_by_hand_are_not_tried() -> None:
    def arrays(tables: dict[str, Any]) -> None:
        tables["data"]["preprocess"] = {"kind": "array"}

    assert tried("models/cifar10", arrays) is None


@pytest.mark.parametrize(
    ("task", "given", "sentence"),
    [
        ("models/titanic", {"labels": ["yes"]}, "has 1 labels, and the model gives 2 answers"),
        ("models/titanic", {"example": {"Cabin": "C85"}}, "'Cabin', which is no column"),
        ("models/titanic", {"example": {"Sex": "cat"}}, "'cat' for Sex; it is one of female, male"),
        ("models/titanic", {"example": "a man"}, "example of a table is a row"),
        ("models/titanic", {"names": {"Cabin": "Cabin"}}, "names has 'Cabin'"),
        ("models/titanic", {"input": "draw"}, "Take the table out"),
        ("models/cifar10", {"example": "a cat"}, "pictures and drawings have none"),
        ("models/cifar10", {"names": {"cat": "Cat"}}, "titles of a table's columns"),
        ("models/shakespeare", {"example": [1.0]}, "a text for texts"),
        ("starters/series", {"example": [1.0, 2.0]}, "has 2 numbers, the model takes 48"),
    ],
)
def test_a_trial_that_does_not_fit_the_task_is_refused_with_a_sentence(
    task: str, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        tried(task, lambda tables: tables.update({"try": given}))
