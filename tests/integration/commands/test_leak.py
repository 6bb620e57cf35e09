"""`minga leak`, run as its users run it: what it refuses, and one short attack."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from backend.commands.build import build_task
from backend.commands.leak.leak import ATTACK_NAMES, PROTECTION_NAMES
from backend.lab.leakage.experiment import ATTACKS
from backend.lab.leakage.server_views import PROTECTIONS
from tests.integration.commands import command_runner
from tests.support.plugins.requirements import real_data
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY, LONG

GALLERY = Path(__file__).parents[3] / "models"

minga = partial(command_runner.minga, "leak")
facts = partial(command_runner.facts, "leak")


def refused(*words: str | Path) -> str:
    done = minga(*words)
    assert done.returncode == 2, done.stderr
    assert not done.stdout
    return " ".join(done.stderr.split())


def test_the_command_offers_every_protection_and_attack() -> None:
    assert tuple(PROTECTIONS) == PROTECTION_NAMES
    assert tuple(ATTACKS) == ATTACK_NAMES


def test_a_server_is_not_attacked() -> None:
    assert "only tasks of the account that runs it" in refused("https://minga.example.org/tasks/digits")


def test_what_is_no_task_is_named(tmp_path: Path) -> None:
    assert "There is no task file" in refused(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--noise", "nan"), "at least 0"),
        (("--clip", "0"), "above 0"),
        (("--group", "1"), "at least 2 volunteers"),
        (("--pictures", "many"), "whole number"),
        (("--seed", "-1"), "below 2^31"),
        (("--option", "nothing"), "invalid choice"),
    ],
)
def test_bad_numbers_are_refused(flags: tuple[str, str], sentence: str) -> None:
    assert sentence in refused("digits", *flags)


@pytest.mark.tensorflow
def test_tasks_that_the_attacks_do_not_fit_are_refused_with_the_reason(tmp_path: Path) -> None:
    assert "reconstructs pictures" in refused(write_task(tmp_path / "numbers"))
    assert "federated rounds" in refused("text-lstm")


@pytest.mark.tensorflow
def test_a_report_needs_its_folder(tmp_path: Path) -> None:
    assert "create it first" in refused("digits", "--report", tmp_path / "no" / "report.html")


@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_a_digit_leaks_and_the_page_shows_it(tmp_path: Path) -> None:
    build_task(GALLERY / "digits")
    page = tmp_path / "report.html"
    words = ("--set", "training.epochs=1", "--pictures", "1", "--attack", "idlg", "--option", "open")
    told = facts("digits", *words, "--report", page)
    (option,) = told["options"]
    assert option["labels"] == 1.0
    assert option["ssim"] >= 0.8
    assert option["pictures"] == [{"attack": "idlg", "ssim": option["ssim"]}]
    assert page.read_text("utf-8").count("data:image/png;base64,") == 2


@pytest.mark.tensorflow
@pytest.mark.long
@pytest.mark.timeout(LONG)
def test_photographs_leak_more_in_the_open_than_under_masks_and_noise() -> None:
    build_task(GALLERY / "cifar10")
    data = real_data("cifar10_test.zip")
    options = [word for name in ("open", "masked", "local") for word in ("--option", name)]
    words: tuple[str | Path, ...] = (
        "--data",
        data,
        "--pictures",
        "1",
        "--attack",
        "inversion",
        "--steps",
        "2000",
        *options,
    )
    done = minga("cifar10", *words, "--json", seconds=LONG)
    in_the_open, *protected = json.loads(done.stdout)["options"]
    assert in_the_open["labels"] == 1.0
    for option in protected:
        assert option["ssim"] <= 0.2
        assert option["ssim"] < in_the_open["ssim"]
