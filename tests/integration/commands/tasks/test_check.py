"""`minga task check`: what a server would refuse, and what is still missing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backend.__main__ import main
from tests.integration.commands.tasks.test_push import MODEL, PLAN, table, write_folder
from tests.support.tasks.owner_files import pictures
from tests.support.tasks.small_model import small_model
from tests.support.tasks.tiny_task import SHARDS, write_task, write_units
from tests.support.timeouts import HEAVY
from tests.support.web.draft_client import ABOUT
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator, program

Facts = dict[str, Any]


def check(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, list[Facts]]:
    """The exit code, and what was found."""
    code = main(["task", "check", str(folder), "--json", *words])
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] == (code == 0)
    return code, told["findings"]


def about(found: list[Facts], key: str) -> Facts:
    return next(one for one in found if one["key"] == key)


@pytest.fixture
def cats(tmp_path: Path) -> Path:
    """A folder that lacks nothing but a model."""
    folder = write_folder(tmp_path / "cats", **ABOUT)
    (folder / "data.csv").write_bytes(table(1_500))
    return folder


def test_what_is_missing_for_a_launch_is_told_apart_from_what_is_wrong(
    cats: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = check(capsys, cats)
    assert code == 0
    assert about(found, "model-file") | {"line": 0} == {
        "key": "model-file",
        "state": "todo",
        "text": "Bring the model.",
        "line": 0,
        "for_test": True,
    }
    assert about(found, "data")["text"].startswith("The data are 1,500 examples (table) in 2 classes.")
    assert main(["task", "check", str(cats)]) == 0
    assert capsys.readouterr().out.endswith("Complete the items marked · before launch.\n")


def test_masked_groups_are_told_with_what_they_give(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robust = {"rule": "median", "attackers": 1, "groups": 3}
    plan = {**PLAN, "min_available_clients": 12, "quorum": 12}
    security = {"aggregation": ["masked"], "masking": {"min_clients": 4}, "robust": robust}
    folder = write_folder(tmp_path / "grouped", coordination=plan, security=security)
    _, found = check(capsys, folder)
    told = about(found, "masked-groups")["text"]
    assert told.startswith("12 clients in 3 masked groups: an update is hidden among at least 4")


def test_a_fault_of_the_task_file_is_told_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folder(tmp_path / "wrong", coordination={**PLAN, "quorum": "many"})
    code, found = check(capsys, folder)
    fault = about(found, "task")
    assert (code, fault["state"]) == (2, "failed")
    line = (folder / "task.toml").read_text("utf-8").splitlines()[fault["line"] - 1]
    assert line.startswith("quorum")


def test_rounds_too_small_for_a_robust_rule_are_told_with_the_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_task(tmp_path / "tiny", min_available_clients=6, quorum=6)
    file = folder / "task.toml"
    text = file.read_text("utf-8") + '[security.robust]\nrule = "krum"\nbefore = ["nnm"]\nattackers = '
    file.write_text(f"{text}2\n", "utf-8")
    code, found = check(capsys, folder)
    assert code == 2
    assert "needs at least 7 updates to bear attackers = 2: of 6 it bears 1" in about(found, "task")["text"]
    file.write_text(f"{text}1\n", "utf-8")
    assert "robust" not in json.dumps(check(capsys, folder)[1])


def test_files_that_are_not_what_they_say_are_found(cats: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cats / "model.keras").write_bytes(b"\x80\x04 no zip file")
    (cats / "data.csv").write_bytes(b"a,b\n1,2\n3\n")
    code, found = check(capsys, cats)
    assert code == 2
    assert "does not begin like a .keras file" in about(found, "model-file")["text"]
    assert about(found, "data")["state"] == "failed"


@pytest.mark.parametrize(
    ("key", "units", "instead"),
    [
        ("recipe", {"assimilation": {"name": "fedbuff", "buffer": 50}}, f"Lower it to {SHARDS} or less"),
        ("recipe", {"assimilation": {"name": "dc-asgd"}}, 'or take "fedasync", which goes with every'),
        ("recipe", {"assimilation": {"name": "downpour", "n_push": 3}}, "Take a multiple of 2, or leave"),
        ("task", {"bound": 0}, "leave `bound` out for no limit, or take 1"),
    ],
)
def test_a_recipe_that_fits_neither_its_clients_nor_its_data_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, units: Facts, instead: str
) -> None:
    folder = write_units(tmp_path / "tiny", **units)
    bundle = folder / "bundle" / "bundle.json"
    manifest = json.loads(bundle.read_text("utf-8"))
    manifest["optimizer"]["hyperparameters"] = {"gradient_accumulation_steps": 2}
    bundle.write_text(json.dumps(manifest), "utf-8")
    code, found = check(capsys, folder)
    assert (code, about(found, key)["state"]) == (2, "failed")
    assert instead in about(found, key)["text"]
    fit = write_units(tmp_path / "other", assimilation={"name": "fedbuff", "buffer": SHARDS})
    assert all(one["key"] != "recipe" for one in check(capsys, fit)[1])


@pytest.mark.timeout(HEAVY)
@pytest.mark.tensorflow
def test_the_model_is_converted_here_and_its_data_are_looked_at_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_folder(tmp_path / "cats", **ABOUT, model={**MODEL, "metrics": ["accuracy"]})
    (folder / "model.keras").write_bytes(small_model())
    pictures(folder / "data.zip", 12, 8)
    code, found = check(capsys, folder, "--convert")
    assert code == 0, found
    assert about(found, "convert")["text"].startswith("122 parameters")
    assert [one["text"].split()[0] for one in found if one["key"] == "devices"] == [
        "Phones",
        "Laptops",
        "Computers",
    ]
    assert about(found, "data")["text"].startswith("The data are 20 examples (image) in 2 classes.")
    # Nothing is left in the folder.
    assert {path.name for path in folder.iterdir()} == {"task.toml", "README.md", "model.keras", "data.zip"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


def test_a_server_is_asked_for_the_name_and_the_token(
    server: Server, cats: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = operator(server)
    monkeypatch.setitem(os.environ, "MINGA_TOKEN", program(ann, "create").token or "")
    code, found = check(capsys, cats, "--to", server.url)
    assert (code, about(found, "name")["state"]) == (0, "done")
    assert about(found, "token")["text"] == f"{server.url} accepts the token, which belongs to ann."
    file = cats / "task.toml"
    file.write_text(file.read_text("utf-8").replace('name = "cats"', 'name = "tiny"'), "utf-8")
    code, found = check(capsys, cats, "--to", server.url)
    assert (code, about(found, "name")["state"]) == (2, "failed")
    monkeypatch.setitem(os.environ, "MINGA_TOKEN", program(ann, "inspect").token or "")
    assert main(["task", "check", str(cats), "--to", server.url]) == 2
    assert "create" in capsys.readouterr().err
