"""Settings that were derived from a file go with it; an owner's choices stay where they fit the next one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from backend.datasets.inspection.findings import Array, Column, DataFindings
from backend.server.drafts.derived_settings import (
    forget_model_settings,
    model_note,
    take_data_settings,
    take_model_settings,
)
from backend.server.drafts.draft_store import Drafts
from backend.server.drafts.preprocess_merge import merged
from backend.server.drafts.record import Draft, StoredFile
from backend.server.drafts.task_tables import begin
from tests.support.tasks.draft_jobs import ended, opened, with_data

SEMICOLONS = "size;colour;kind\n" + "".join(f"{n},5;{'rg'[n % 2]};{'xyz'[n % 3]}\n" for n in range(30))
PORTS = [[[8]], [[1]], [[1]]]


def replaced(drafts: Drafts, draft: Draft, content: str, sha256: str) -> None:
    draft.files["data"] = StoredFile("e.csv", ".csv", len(content), sha256, 1.0)
    drafts.file(draft, "data").write_text(content)


async def test_another_table_brings_its_own_delimiter_and_columns(tmp_path: Path) -> None:
    async with opened(tmp_path) as (drafts, queue):
        draft = await with_data(drafts)
        await queue.ask(draft, "look")
        await ended(queue, draft)
        assert draft.task["data"]["preprocess"]["delimiter"] == ","
        replaced(drafts, draft, SEMICOLONS, "b" * 64)
        await queue.ask(draft, "look")
        job = await ended(queue, draft)
        read = draft.task["data"]["preprocess"]
        assert (read["delimiter"], read["decimal"]) == (";", ",")
        assert [column["name"] for column in read["columns"]] == ["size", "colour"]
        assert read["labels"][0]["name"] == "kind"
        assert job.result is not None
        assert job.result["notes"][0] == "The settings follow the new file."


def image(**changed: Any) -> dict[str, Any]:
    return {"kind": "image", "size": [32, 32], "channels": 3, "classes": ["a", "b"], "scale": 1.0, **changed}


def test_choices_for_pictures_stay_but_for_what_the_model_and_the_file_fix() -> None:
    found = DataFindings("image", 9, preprocess=image(size=[28, 28], channels=1, classes=["c", "d"]))
    current = image(size=[64, 64], fit="contain", classes=["b", "a"])
    read, note = merged(current, image(), found, True)
    assert read == image(size=[28, 28], channels=1, classes=["c", "d"], fit="contain")
    assert note == (
        "The settings follow the new file. Your choices for these are kept: fit. Your choices for these did "
        "not fit and are gone: size."
    )
    assert merged(current, image(), found, False)[0]["size"] == [64, 64]


def test_data_of_another_kind_reset_everything() -> None:
    found = DataFindings("array", 9, arrays=[Array("x", [9, 2], "float32")], preprocess={"kind": "array"})
    read, note = merged(image(fit="contain"), image(), found, True)
    assert read == {"kind": "array"}
    assert note == (
        "The new data are of another kind (arrays instead of pictures): the settings of the earlier ones are "
        "gone."
    )


def test_roles_of_columns_stay_with_their_names() -> None:
    number = {"kind": "number", "scaling": "standard"}
    proposed = {
        "kind": "table",
        "columns": [{"name": "a", **number}, {"name": "b", **number}],
        "labels": [{"name": "y", "kind": "class", "classes": ["0", "1"], "encoding": "number"}],
    }
    current = {
        "kind": "table",
        "columns": [{"name": "y", "kind": "category", "missing": "none", "unknown": "none"}],
        "labels": [{"name": "a", "kind": "number"}],
    }
    columns = [
        Column("a", "number", 0, 30, least=0.0, mean=1.0, most=2.0),
        Column("y", "category", 0, 3, {"p": 1, "q": 1, "r": 1}),
        Column("new", "number", 2, 30, least=0.0, mean=1.0, most=2.0),
    ]
    new = {
        "kind": "table",
        "delimiter": ";",
        "columns": [{"name": "a", **number}, {"name": "new", **number, "missing": "mean"}],
        "labels": [{"name": "y", "kind": "class", "classes": ["p", "q", "r"], "encoding": "index"}],
    }
    read, note = merged(current, proposed, DataFindings("table", 30, columns=columns, preprocess=new), True)
    assert read["labels"] == [{"name": "a", "kind": "number"}]
    assert [column["name"] for column in read["columns"]] == ["y", "new"]
    assert "kept: a, y" in note
    assert "gone: b" in note


def with_model(sha256: str, **model: Any) -> Draft:
    draft = Draft("0" * 16, "ann", 1.0, 1.0, begin("cats", "Cats"), onward=True)
    draft.task["model"] |= model
    draft.files["model"] = StoredFile("m.keras", ".keras", 1, sha256, 1.0)
    return draft


def converted(draft: Draft, ports: list[Any], **proposed: Any) -> bool:
    forget_model_settings(draft)
    return take_model_settings(draft, {"model": proposed, "ports": ports})


def test_what_was_proposed_for_a_model_goes_with_it() -> None:
    draft = with_model("a" * 64, optimizer={"name": "adam"})
    assert not converted(draft, PORTS, loss="mean_squared_error")
    assert draft.task["model"]["loss"] == "mean_squared_error"
    draft.files["model"] = StoredFile("n.keras", ".keras", 1, "b" * 64, 1.0)
    assert not converted(draft, [[[32, 32, 3]], [[]], [[10]]])
    assert "loss" not in draft.task["model"]
    assert draft.task["model"]["optimizer"] == {"name": "adam"}
    assert model_note(draft) == "Settings of the earlier model are gone: loss."


def test_an_owners_loss_stays_only_with_the_same_outputs() -> None:
    draft = with_model("a" * 64, loss="huber")
    converted(draft, PORTS)
    draft.files["model"] = StoredFile("n.keras", ".keras", 1, "b" * 64, 1.0)
    assert not converted(draft, PORTS)
    assert draft.task["model"]["loss"] == "huber"
    draft.files["model"] = StoredFile("o.keras", ".keras", 1, "c" * 64, 1.0)
    assert converted(draft, [[[8]], [[]], [[10]]])
    assert "loss" not in draft.task["model"]
    assert "what was set for the earlier one is gone: loss" in model_note(draft)
    assert not converted(draft, [[[8]], [[]], [[10]]], loss="sparse_categorical_crossentropy")
    assert draft.task["model"]["loss"] == "sparse_categorical_crossentropy"


def test_another_model_for_the_same_data_changes_their_size_without_a_word() -> None:
    draft = with_model("a" * 64)
    draft.files["data"] = StoredFile("d.zip", ".zip", 1, "d" * 64, 1.0)
    assert take_data_settings(draft, DataFindings("image", 9, preprocess=image()), True) == ""
    draft.files["model"] = StoredFile("n.keras", ".keras", 1, "b" * 64, 1.0)
    note = take_data_settings(draft, DataFindings("image", 9, preprocess=image(size=[28, 28])), True)
    assert (note, draft.task["data"]["preprocess"]["size"]) == ("", [28, 28])


def test_a_preprocessing_from_a_task_file_outlives_its_file_unless_the_kind_changes() -> None:
    draft = with_model("a" * 64)
    draft.task["data"]["preprocess"], draft.declared = image(size=[8, 8]), True
    for sha256 in ("d" * 64, "e" * 64):
        draft.files["data"] = StoredFile("d.zip", ".zip", 1, sha256, 1.0)
        take_data_settings(draft, DataFindings("image", 9, preprocess=image()), True)
        assert draft.task["data"]["preprocess"]["size"] == [8, 8]
    draft.files["data"] = StoredFile("d.npz", ".npz", 1, "f" * 64, 1.0)
    take_data_settings(draft, DataFindings("array", 9, preprocess={"kind": "array"}), True)
    assert draft.task["data"]["preprocess"] == {"kind": "array"}
