"""`minga attack`, run as its users run it: what it refuses, and a short training under attack."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from backend.commands.attack.task_attacks import shards_of_own_data
from backend.commands.build import build_task
from backend.errors import TaskFileError
from backend.formats.task_file.reading.reader import read_task_tables
from backend.lab.robustness.robustness_task import open_robustness_task
from backend.server.drafts.toml import to_toml
from tests.integration.commands import command_runner
from tests.support.timeouts import HEAVY

GALLERY = Path(__file__).parents[3] / "models"

minga = partial(command_runner.minga, "attack")
facts = partial(command_runner.facts, "attack")


def refused(*words: str | Path) -> str:
    done = minga(*words)
    assert done.returncode == 2, done.stderr
    assert not done.stdout
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "address",
    [
        "https://minga.example.org/tasks/digits",
        "localhost:8000",
        "minga.example.org/tasks/digits",
    ],
)
def test_a_server_is_not_attacked(address: str) -> None:
    sentence = refused(address)
    assert f"{address} is an address, and the lab attacks only tasks of the account that runs it" in sentence
    assert "download it at the foot of its dashboard" in sentence


def test_what_is_no_task_is_named(tmp_path: Path) -> None:
    assert "There is no task file" in refused(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--clients", "0"), "whole number"),
        (("--alpha", "0"), "above 0"),
    ],
)
def test_bad_numbers_are_refused(flags: tuple[str, str], sentence: str) -> None:
    assert sentence in refused("digits", *flags)


@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_examples_are_brought_as_a_volunteer_brings_them(tmp_path: Path) -> None:
    build_task(GALLERY / "digits")
    digits = open_robustness_task(GALLERY / "digits" / "task.toml")
    tables = read_task_tables(GALLERY / "digits" / "task.toml")
    tables["data"] = {"source": "volunteer", "preprocess": tables["data"]["preprocess"]}
    tables["model"]["bundle"] = str(digits.bundle)
    path = tmp_path / "task.toml"
    path.write_text(to_toml(tables), "utf-8")
    raw = np.rint(16 * digits.train.x[0]).astype(np.uint8)
    np.savez(tmp_path / "own.npz", x=raw, y=digits.train.y[0].astype(np.int32))
    with pytest.raises(TaskFileError, match="Give some of your own with --data PATH"):
        open_robustness_task(path)
    opened = open_robustness_task(path, (), shards_of_own_data(path, (), tmp_path / "own.npz", tmp_path))
    assert len(opened.held_out) == pytest.approx(0.1 * len(raw), abs=1)
    pictures = {picture.tobytes() for picture in digits.train.x[0]}
    assert len(opened.train) + len(opened.held_out) == len(raw)
    assert {picture.tobytes() for picture in opened.train.x[0]} <= pictures
    with pytest.raises(TaskFileError, match="leave --data out"):
        shards_of_own_data(GALLERY / "digits" / "task.toml", (), tmp_path / "own.npz", tmp_path)


@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_a_rule_for_which_the_clients_are_too_few_is_refused_before_any_training() -> None:
    build_task(GALLERY / "digits")
    sentence = (
        "krum needs at least 9 clients to bear 3 attackers: of 8 it bears 2. Give --clients 9, or fewer"
    )
    assert sentence in refused("digits", "--rule", "krum", "--clients", "8")


def test_a_report_needs_its_folder(tmp_path: Path) -> None:
    assert "create it first" in refused("digits", "--report", tmp_path / "no" / "report.html")


@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_a_short_lab_has_a_row_for_each_rule_and_attack_and_a_page_with_curves(tmp_path: Path) -> None:
    build_task(GALLERY / "digits")
    page = tmp_path / "report.html"
    words = ("--clients", "5", "--attackers", "1", "--rounds", "2", "--rule", "krum", "--attack", "nan")
    told = facts("digits", *words, "--report", page)
    assert page.read_text("utf-8").count("<polyline") == 4
    assert [(row["rule"], row["attack"]) for row in told["rows"]] == [
        ("mean", "none"),
        ("mean", "nan"),
        ("krum", "none"),
        ("krum", "nan"),
    ]
    assert told["clean"] == told["rows"][0]["accuracy"] > 0.7
    for row in told["rows"]:
        # The host refuses one NaN a round. Krum keeps one update. Without an attack that may be the fifth
        # client's, and all four honest ones are left out.
        assert row["refused"] == (2 if row["attack"] == "nan" else 0)
        left_out = {"mean": {0}, "krum": {6} if row["attack"] == "nan" else {6, 7, 8}}
        assert row["honest_ejections"] in left_out[row["rule"]]
        assert row["share_of_clean"] == pytest.approx(row["accuracy"] / told["clean"], abs=1e-3)
        assert (len(row["accuracy_curve"]), row["backdoor"], row["abandoned"]) == (2, None, 0)
