"""The task file of a draft: TOML both ways, what owners may say, and which results still hold."""

from __future__ import annotations

import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.datasets.inspection.findings import DataFindings
from backend.errors import TaskFileError
from backend.server.drafts.record import BrowserDryRun, Draft, DraftJob, StoredFile
from backend.server.drafts.review.checklist import checklist, fingerprint, holds, missing
from backend.server.drafts.task_tables import begin, fixed, from_toml, parsed, proposed
from backend.server.drafts.toml import to_toml
from backend.settings import assets_folder
from tests.support.web.draft_client import ABOUT

# TOML's files are UTF-8, which has no lone surrogates.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, VALUES, max_size=6))
def test_what_is_written_is_read_again(tables: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(tables)) == tables


def test_what_toml_has_no_word_for_is_left_out_or_refused() -> None:
    assert tomllib.loads(to_toml({"a": None, "b": {"c": None}, "d": [{"e": None}]})) == {"b": {}, "d": [{}]}
    assert math.isnan(tomllib.loads(to_toml({"a": math.nan}))["a"])
    with pytest.raises(TypeError, match="nothing that TOML can say"):
        to_toml({"a": b"bytes"})


@pytest.mark.parametrize("name", ["digits", "cifar10", "shakespeare", "text-lstm", "titanic"])
def test_the_gallery_goes_through_a_draft_and_stays_the_same(name: str) -> None:
    text = (assets_folder() / "models" / name / "task.toml").read_text("utf-8")
    there = tomllib.loads(text)
    back = tomllib.loads(to_toml(from_toml(text)))
    assert back["model"] == {**there["model"], "file": "bundle/model.keras", "bundle": "bundle"}
    assert parsed(back).name == name
    assert back["coordination"] == there["coordination"]


def test_a_new_draft_is_a_sound_task_file() -> None:
    task = parsed(begin("cats", "Cats"))
    assert (task.name, task.title, task.data.shards) == ("cats", "Cats", "shards")


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"hooks": {"on_round_end": ["rm", "-rf", "/"]}}, "runs a program on the server"),
        ({"model": "x"}, r"\[model\] and \[data\] are tables"),
        ({"data": []}, r"\[model\] and \[data\] are tables"),
        ({"title": "x" * (1 << 19)}, "keep long texts in README"),
        ({"a": {"b": object()}}, "no text, finite number, list or table"),
    ],
)
def test_what_is_not_an_owners_to_say_is_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        fixed(tables)


def test_tables_deep_in_each_other_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(50):
        deep = {"a": deep}
    with pytest.raises(TaskFileError, match="deep"):
        fixed(deep)
    with pytest.raises(TaskFileError):
        from_toml("a = " + "[" * 100_000)
    with pytest.raises(TaskFileError, match="not valid TOML"):
        from_toml("a = ")


@pytest.mark.parametrize("value", ["nan", "-inf", "1e999", "2026-01-01", "12:00:00"])
def test_values_that_a_record_cannot_hold_are_refused(value: str) -> None:
    with pytest.raises(TaskFileError, match="no text, finite number"):
        from_toml(f"a = {value}")


def test_owners_never_choose_where_files_lie() -> None:
    tables = fixed(
        {
            "model": {"file": "/etc/passwd", "bundle": "../../other/bundle"},
            "data": {"source": "shards", "shards": "/tmp"},  # noqa: S108 - what is not to happen
        }
    )
    assert tables["model"] == {"file": "bundle/model.keras", "bundle": "bundle"}
    assert tables["data"]["shards"] == "shards"
    assert "shards" not in fixed({"data": {"source": "volunteer", "shards": "x"}})["data"]


def drafted(folder: Path) -> Draft:
    """A draft whose every job is done."""
    task = begin("cats", "Cats") | ABOUT
    draft = Draft("0" * 16, "ana", 0.0, 0.0, task)
    draft.files = {"model": StoredFile("m.keras", ".keras", 5, "a" * 64, 0.0)}
    draft.files["data"] = StoredFile("d.zip", ".zip", 5, "b" * 64, 0.0)
    for name in ("task/bundle", "task/shards", "looked", "rehearsed"):
        (folder / name).mkdir(parents=True)
    for kind in ("look", "convert", "cut", "rehearse"):
        draft.jobs[kind] = DraftJob("done", fingerprint(draft, kind), 0.0)
    draft.tried = [
        BrowserDryRun(fingerprint(draft, "rehearse"), 0.0, "Chrome", "wasm", "agrees", "It agrees.")
    ]
    return draft


def test_a_draft_with_everything_done_lacks_nothing(tmp_path: Path) -> None:
    assert missing(checklist(drafted(tmp_path), tmp_path, None)) == []


def test_a_change_makes_what_depends_on_it_due_again(tmp_path: Path) -> None:
    draft = drafted(tmp_path)
    draft.task = {**draft.task, "title": "Other cats"}
    assert holds(draft, "rehearse", tmp_path)
    draft.task["data"] = {**draft.task["data"], "holdout": 0.2}
    assert [item.key for item in missing(checklist(draft, tmp_path, None))] == ["cut", "rehearse", "browser"]
    draft.task["model"] = {**draft.task["model"], "batch_size": 8}
    left = [item.key for item in missing(checklist(draft, tmp_path, None))]
    assert left == ["convert", "cut", "rehearse", "browser"]
    draft.files["data"] = StoredFile("e.zip", ".zip", 5, "c" * 64, 0.0)
    texts = {item.key: item.text for item in missing(checklist(draft, tmp_path, None))}
    assert "look" in texts
    assert "has changed" in texts["look"]


def test_a_result_whose_files_are_gone_is_due_again(tmp_path: Path) -> None:
    draft = drafted(tmp_path)
    (tmp_path / "task" / "bundle").rmdir()
    assert not holds(draft, "convert", tmp_path)


def test_where_volunteers_bring_their_own_data_none_are_asked_for(tmp_path: Path) -> None:
    draft = drafted(tmp_path)
    data = {"source": "volunteer", "preprocess": {"kind": "array"}}
    draft.task = {**draft.task, "data": data}
    draft.jobs = {}
    assert [item.key for item in missing(checklist(draft, tmp_path, None))] == [
        "convert",
        "rehearse",
        "browser",
    ]


def test_what_an_owner_has_said_is_not_proposed_over() -> None:
    findings = DataFindings("array", 100, preprocess={"kind": "array", "scale": 0.5})
    tables = begin("cats", "Cats")
    assert proposed(tables, findings)["data"]["preprocess"] == {"kind": "array", "scale": 0.5}
    assert proposed(tables, findings)["training"] == {"epochs": 2}
    own = {**tables, "data": {"source": "shards", "preprocess": {"kind": "array"}}, "training": {"epochs": 5}}
    assert proposed(own, findings)["data"]["preprocess"] == {"kind": "array"}
    assert proposed(own, findings)["training"] == {"epochs": 5}
    # A task takes epochs or steps, not both.
    assert proposed({**own, "training": {"steps": 10}}, findings)["training"] == {"steps": 10}


@pytest.mark.parametrize(
    ("table", "said", "left"),
    [
        ("consent", {}, "why the data may be used"),
        ("consent", {"basis": "other", "note": " "}, "which other reason"),
        ("consent", "agreed", "why the data may be used"),
        ("ethics", {}, r"whether there are people .* harm and who benefits from it\.$"),
        ("ethics", ABOUT["ethics"] | {"people": "anonymous"}, r"sensitive.* protects these people"),
    ],
)
def test_a_launch_waits_for_what_people_are_told(tmp_path: Path, table: str, said: object, left: str) -> None:
    draft = drafted(tmp_path)
    draft.task[table] = said
    items = {item.key: item.text for item in missing(checklist(draft, tmp_path, None))}
    assert re.search(left, items[table])


def test_a_private_test_needs_licences_and_a_contact_only(tmp_path: Path) -> None:
    draft = drafted(tmp_path)
    for table in ("summary", "consent", "ethics"):
        del draft.task[table]
    lacking = [item.key for item in missing(checklist(draft, tmp_path, None), test=True)]
    assert {"contact"} == set(lacking) & {"summary", "licence", "consent", "ethics", "contact"}
    draft.task["ethics"] = {"contact": "ana@example.org"}
    del draft.task["licence"]
    lacking = [item.key for item in missing(checklist(draft, tmp_path, None), test=True)]
    assert {"licence"} == set(lacking) & {"summary", "licence", "consent", "ethics", "contact"}
