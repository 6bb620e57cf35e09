"""When a task asks for the same bits everywhere, and what it is told where that cannot be."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, exactness, parse_task
from tests.support.tasks.tiny_task import task_toml, volunteer_toml

OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}


def elsewhere(kind: str, name: str, **rest: Any) -> dict[str, Any]:
    """The table [data] of a public file."""
    file = {"address": f"https://data.example.org/{name}", "sha256": "0" * 64, "bytes": 100}
    preprocess = {"kind": kind, **rest}
    return {"source": "url", "preprocess": preprocess, "url": {"train": 10, "files": [file]}}


def task(exact: str | None, text: str, **tables: dict[str, Any]) -> TaskFile:
    """A task with this `training.exact`; `tables` add to its own, `data` replaces it."""
    content = tomllib.loads(text)
    if exact is not None:
        content["training"] = content.get("training", {}) | {"exact": exact}
    for name, table in tables.items():
        content[name] = table if name == "data" else content.get(name, {}) | table
    return parse_task(content, "here")


def test_results_of_work_units_are_compared_by_hash_where_nothing_else_is_said() -> None:
    assert exactness(task(None, volunteer_toml("tiny"))) == "preferred"


def test_rounds_and_own_data_ask_for_nothing_where_nothing_else_is_said() -> None:
    assert exactness(task(None, task_toml("tiny", {}))) == "off"
    assert exactness(task(None, task_toml("tiny", {}), data=OWN)) == "off"


@pytest.mark.parametrize("said", ["required", "preferred", "off"])
def test_work_units_take_every_choice(said: str) -> None:
    assert exactness(task(said, volunteer_toml("tiny"))) == said


@pytest.mark.parametrize("said", ["required", "off"])
def test_rounds_on_shards_may_require_it(said: str) -> None:
    assert exactness(task(said, task_toml("tiny", {}))) == said


def test_public_arrays_are_bytes_and_may_be_required() -> None:
    assert exactness(task("required", task_toml("tiny", {}), data=elsewhere("array", "d.npz"))) == "required"


PICTURES = elsewhere("image", "d.zip", size=[8, 8], classes=["a", "b"])
RECORDINGS = elsewhere("audio", "d.zip", classes=["a", "b"])
TEXTS = elsewhere("text", "d.txt", tokenizer="bytes", length=8)


@pytest.mark.parametrize(
    ("exact", "tables", "sentence"),
    [
        ("preferred", {}, 'only scheme = "volunteer".*Take "required"'),
        ("required", {"data": OWN}, 'no other device has them.*source = "shards"'),
        ("required", {"data": PICTURES}, "a browser decodes pictures"),
        ("required", {"data": RECORDINGS}, "computes spectrograms"),
        ("required", {"data": TEXTS}, "normalises Unicode"),
        (
            "required",
            {"privacy": {"mechanism": "local", "clip": 1.0, "noise_multiplier": 1.0}},
            'secret noise.*mechanism = "central"',
        ),
        ("always", {}, "Invalid enum value"),
    ],
)
def test_what_cannot_have_the_same_bits_is_refused(
    exact: str, tables: dict[str, dict[str, Any]], sentence: str
) -> None:
    with pytest.raises(TaskFileError, match=sentence):
        task(exact, task_toml("tiny", {}), **tables)


def test_noise_of_the_server_leaves_the_bits_of_clients_alone() -> None:
    central = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}
    assert exactness(task("required", task_toml("tiny", {}), privacy=central)) == "required"
