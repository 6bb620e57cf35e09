"""Starter models: which are offered for which data, when they are built, and what replaces them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.datasets.inspection.example_shape import ExampleShape, measure, of_pictures
from backend.errors import DataError, NotFoundError, NotWantedError
from backend.numerics.preprocess.declared import (
    DeclaredArrays,
    DeclaredCategory,
    DeclaredClass,
    DeclaredImage,
    DeclaredNumber,
    DeclaredTable,
    DeclaredTarget,
    DeclaredText,
)
from backend.server.drafts.jobs.job_inputs import is_due
from backend.server.drafts.record import Draft, DraftJob, StoredFile
from backend.server.drafts.review.checklist import checklist, fingerprint
from backend.server.drafts.review.wizard_steps import first_incomplete_step
from backend.server.drafts.starters import building, choice
from backend.server.drafts.starters.starters import STARTERS
from backend.server.drafts.task_tables import begin
from tests.support.tasks.draft_jobs import opened, with_data

PICTURES = {"kind": "image", "size": [32, 32], "channels": 3, "classes": ["cat", "dog"], "encoding": "index"}
CONVERTER = Path(__file__).parents[5] / "converter" / "starter_models" / "starters.py"


def drafted(preprocess: dict[str, Any] | None, **found: Any) -> Draft:
    """A draft whose data were inspected, or one without data."""
    task = begin("cats", "Cats")
    draft = Draft("0" * 16, "ana", 0.0, 0.0, task)
    if preprocess is not None:
        task["data"]["preprocess"] = preprocess
        draft.files["data"] = StoredFile("d.zip", ".zip", 5, "b" * 64, 0.0)
        draft.jobs["look"] = DraftJob("done", fingerprint(draft, "look"), 0.0, result=found)
    return draft


def names(draft: Draft) -> set[str]:
    return {one["name"] for one in choice.offered(draft)}


def test_every_starter_is_built_by_the_converter() -> None:
    built = re.findall(r'^    "([a-z-]+)": \w+\.build,$', CONVERTER.read_text(), re.MULTILINE)
    assert built == list(STARTERS)


@pytest.mark.parametrize(
    ("preprocess", "shape", "fitting"),
    [
        (None, None, set(STARTERS)),
        (PICTURES, None, {"small-cnn", "mobile-net"}),
        ({"kind": "table"}, None, {"table-mlp"}),
        ({"kind": "text"}, None, {"text-gru", "small-gpt"}),
        ({"kind": "array"}, [9, 48, 2], {"series-forecaster"}),
        ({"kind": "array"}, [9, 7], {"table-mlp"}),
        ({"kind": "array"}, [9, 28, 28, 1], {"small-cnn", "mobile-net"}),
        ({"kind": "array"}, [9, 4, 4, 4, 4], set()),
    ],
)
def test_only_starters_that_fit_the_data_are_offered(
    preprocess: dict[str, Any] | None, shape: list[int] | None, fitting: set[str]
) -> None:
    arrays = [] if shape is None else [{"name": "x", "shape": shape, "dtype": "float32"}]
    assert names(drafted(preprocess, arrays=arrays)) == fitting


async def test_a_starter_replaces_a_model_and_an_upload_replaces_a_starter(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, _):
        draft = await with_data(drafts)
        draft.files["model"] = StoredFile("m.keras", ".keras", 5, "a" * 64, 1.0)
        draft.task["model"] |= {"batch_size": 8, "loss": "mse", "optimizer": {"name": "sgd"}}
        drafts.file(draft, "model").write_bytes(b"model")
        await choice.choose(drafts, draft, "table-mlp")
        assert (draft.starter, list(draft.files)) == ("table-mlp", ["data"])
        assert not (drafts.folder(draft) / "model.keras").exists()
        assert draft.task["model"] == {"batch_size": 8, "file": "bundle/model.keras", "bundle": "bundle"}
        with pytest.raises(NotFoundError, match="small-cnn, mobile-net"):
            await choice.choose(drafts, draft, "big-gpt")
        draft.task["data"]["preprocess"] = {"kind": "table"}
        with pytest.raises(NotWantedError, match="for pictures, and the data are rows of a table"):
            await choice.choose(drafts, draft, "small-cnn")
        assert draft.starter == "table-mlp"


def test_a_starter_waits_for_the_data_and_leads_its_owner_to_them(tmp_path: Path) -> None:
    draft = drafted(None)
    draft.starter = "small-cnn"
    items = checklist(draft, tmp_path, None)
    assert [(item.key, item.state) for item in items[:2]] == [("model-file", "done"), ("starter", "todo")]
    assert first_incomplete_step(items) == "data"
    assert not is_due(draft, "build", tmp_path)
    # Volunteers bring pictures: their classes are enough.
    draft.task["data"] = {"source": "volunteer", "preprocess": PICTURES}
    assert is_due(draft, "build", tmp_path)
    draft.task["data"]["preprocess"] = {**PICTURES, "classes": ["cat"]}
    assert not is_due(draft, "build", tmp_path)


def test_it_is_built_after_the_inspection_and_nothing_is_made_of_an_outdated_one(tmp_path: Path) -> None:
    draft = drafted({"kind": "table"})
    draft.starter = "table-mlp"
    (tmp_path / "looked").mkdir()
    assert is_due(draft, "build", tmp_path)
    (tmp_path / "built").mkdir()
    draft.jobs["build"] = DraftJob("done", fingerprint(draft, "build"), 0.0)
    draft.files["model"] = StoredFile("table-mlp.keras", ".keras", 5, "a" * 64, 0.0)
    assert not is_due(draft, "build", tmp_path)
    assert is_due(draft, "convert", tmp_path)
    draft.files["data"] = StoredFile("e.csv", ".csv", 5, "c" * 64, 0.0)
    assert not is_due(draft, "build", tmp_path)
    draft.jobs["look"] = DraftJob("done", fingerprint(draft, "look"), 0.0)
    assert is_due(draft, "build", tmp_path)
    assert not is_due(draft, "convert", tmp_path)


def test_a_built_model_does_not_outdate_the_inspection_that_it_was_built_by() -> None:
    draft = drafted(PICTURES)
    draft.starter = "small-cnn"
    before = fingerprint(draft, "look")
    draft.files["model"] = StoredFile("small-cnn.keras", ".keras", 5, "c" * 64, 0.0)
    assert fingerprint(draft, "look") == before


def test_other_pictures_of_as_many_classes_keep_the_model() -> None:
    draft = drafted(PICTURES)
    draft.starter = "small-cnn"
    before = fingerprint(draft, "build")
    draft.files["data"] = StoredFile("e.zip", ".zip", 5, "c" * 64, 0.0)
    draft.task["data"]["preprocess"] = {**PICTURES, "classes": ["cow", "hen"], "scale": 0.5}
    assert fingerprint(draft, "build") == before
    draft.task["data"]["preprocess"] = {**PICTURES, "classes": ["cow", "hen", "pig"]}
    assert fingerprint(draft, "build") != before


def test_the_shape_of_tables_and_texts_is_measured_as_the_cut_has_it(tmp_path: Path) -> None:
    table = tmp_path / "d.csv"
    table.write_text("a,town,class\n1,x,yes\n2,y,no\n3,z,no\n")
    columns: list[DeclaredNumber | DeclaredCategory] = [
        DeclaredNumber(name="a"),
        DeclaredCategory(name="town"),
    ]
    label = DeclaredClass(name="class", encoding="number")
    assert measure(table, DeclaredTable(columns=columns, labels=[label]), 0.0) == ExampleShape(
        "table", [4], [1], "number", 2
    )
    number = DeclaredTable(columns=[DeclaredCategory(name="town")], labels=[DeclaredTarget(name="a")])
    assert measure(table, number, 0.0) == ExampleShape("table", [3], [1])
    with pytest.raises(DataError, match="has one of each"):
        measure(table, DeclaredTable(columns=columns), 0.0)
    text = tmp_path / "d.txt"
    text.write_text("abcabcabcabc")
    declared = DeclaredText(tokenizer="characters", length=4)
    assert measure(text, declared, 0.0) == ExampleShape("text", [4], [4], "index", 3, 3, labels=False)


def test_the_shape_of_arrays_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, x=np.zeros((5, 6, 2), np.float32), y=np.zeros((5, 3), np.float32), c=[0, 2, 1, 0, 2])
    assert measure(path, DeclaredArrays(), 0.0) == ExampleShape("array", [6, 2], [3])
    assert measure(path, DeclaredArrays(y=["c"]), 0.0) == ExampleShape("array", [6, 2], [], "index", 3)


@pytest.mark.parametrize(
    ("example", "form", "output", "loss"),
    [
        (ExampleShape("table", [4], [], "index", 3), "classes", [3], "sparse_categorical_crossentropy"),
        (ExampleShape("table", [4], [3], "one-hot", 3), "classes", [3], "categorical_crossentropy"),
        (ExampleShape("table", [4], [1], "number", 2), "binary", [1], "binary_crossentropy"),
        (ExampleShape("table", [4], [1]), "numbers", [1], "mean_squared_error"),
    ],
)
def test_the_answer_of_a_model_follows_the_label(
    example: ExampleShape, form: str, output: list[int], loss: str
) -> None:
    made = building.model_shape("table-mlp", example)
    assert made.shape == {"input": [4], "form": form, "output": output, "tokens": 0}
    assert made.loss == loss


def test_three_classes_as_one_number_have_a_remedy() -> None:
    with pytest.raises(NotWantedError, match='choose the encoding "index"'):
        building.model_shape("table-mlp", ExampleShape("table", [4], [1], "number", 3))


def test_pictures_without_data_need_classes() -> None:
    declared = DeclaredImage(size=(8, 6), channels=1, classes=["a", "b"], encoding="one-hot")
    assert of_pictures(declared) == ExampleShape("image", [8, 6, 1], [2], "one-hot", 2)
    assert of_pictures(DeclaredImage(size=(8, 6))) is None
