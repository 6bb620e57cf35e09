"""The experiments of VC-ASGD run by real processes, and the documentation shows what they found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from benchmarks.support.dense_task import ROOT
from benchmarks.vc_asgd.report import Report, pictures, summarize, with_tables
from benchmarks.vc_asgd.run import Blend, Experiment, Trained
from tests.integration.benchmarks.accuracy.test_federated import polylines
from tests.support.plugins.requirements import real_data

pytestmark = pytest.mark.long

KEPT = ROOT / "docs" / "explanation" / "volunteer-training"


@pytest.mark.tensorflow
def test_volunteers_train_every_unit_of_every_epoch(tmp_path: Path) -> None:
    environment = os.environ | {"MINGA_DATA": str(real_data("cifar10_train.zip").parent)}
    command = [sys.executable, "-m", "benchmarks.vc_asgd", "--quick", "--save", str(tmp_path), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    assert json.loads((tmp_path / "vc-asgd.json").read_text()) == json.loads(done.stdout)
    found = msgspec.json.decode(done.stdout, type=Report)
    assert (found.examples, found.held_out, found.units, found.store) == (200, 20, 10, "redis")
    assert [one.number for one in found.serial] == [1, 2]
    assert [(one.name, one.alpha) for one in found.runs] == [("P2C2T2", None)]
    for run in (*found.runs, *found.speed):
        assert run.results == found.units * run.epochs[-1].number
        assert run.seconds > 0
        assert run.rate > 0
        assert all(0 <= one.low <= one.mean <= one.high <= 100 for one in run.epochs)
    assert [len(one.epochs) for one in found.runs] == [2]
    assert {path.stem for path in tmp_path.glob("*.svg")} == set(pictures(found))


def blends() -> list[Blend]:
    return [
        Blend(2.0, 1, "a", 0, 0.0, None),
        Blend(4.0, 1, "b", 1, 0.5, 0.2),
        Blend(5.0, 1, "a", 1, 0.5, 0.4),
        Blend(6.0, 2, "b", 2, 0.5, 0.5),
    ]


def test_a_run_is_told_by_its_epochs_and_its_rate_after_everybodys_first_result() -> None:
    run = summarize(Experiment(1, 2, 8), Trained(blends(), 1.5))
    assert (run.name, run.results, run.seconds, run.staleness, run.lost) == ("P1C2T8", 4, 6.0, 1.0, 0.5)
    assert run.rate == pytest.approx(2 / (6.0 - 4.0))
    assert [(one.number, one.seconds) for one in run.epochs] == [(1, 5.0), (2, 6.0)]
    assert [(one.mean, one.low, one.high) for one in run.epochs] == [(30.0, 20.0, 40.0), (50.0, 50.0, 50.0)]


def test_epochs_in_which_nothing_was_measured_are_left_out() -> None:
    run = summarize(Experiment(1, 1, 1), Trained(blends()[:1] + blends()[3:], 0.5))
    assert [one.number for one in run.epochs] == [2]


PAGE = """# Runs

| run | more |
|---|---|
| old | 1 |

| volunteers | more |
|---|---|

The end.
"""


def report() -> Report:
    places = [(1, 3, 2), (1, 3, 8), (3, 3, 8), (5, 5, 2)]
    experiments = [Experiment(*place) for place in places] + [Experiment(5, 5, 2, alpha=None)]
    runs = [summarize(one, Trained(blends(), 1.5)) for one in experiments]
    speed = [summarize(Experiment(1, count, 1), Trained(blends(), 0.1 * count)) for count in (1, 2)]
    return Report(2, "redis", 10, 40, 5, 4, 2, runs[0].epochs, runs, speed)


def test_every_question_is_drawn_with_a_line_for_each_run_that_answers_it() -> None:
    assert {name: len(polylines(picture)) for name, picture in pictures(report()).items()} == {
        "slots": 2,
        "servers": 3,
        "alpha": 2,
        "spread": 2,
        "serial": 2,
        "speed-up": 2,
    }


def test_questions_that_no_run_answers_are_not_drawn() -> None:
    quick = replace(report(), runs=report().runs[-1:])
    assert set(pictures(quick)) == {"alpha", "spread", "serial", "speed-up"}


def test_the_tables_of_a_page_are_made_anew() -> None:
    page = with_tables(PAGE, report())
    assert "| old |" not in page
    assert "| P3C3T8 | 0.95 | 6 | 1.50 | 50.0 % (50.0 to 50.0) | 1.0 | 0 |" in page
    assert "| P5C5T2 | e/(e+1) | 6 | 1.50 |" in page
    assert "| 2 | 1.00 | 1.33 | 0.20 |" in page
    assert page.endswith("\nThe end.\n")
    assert with_tables(page, report()) == page


def kept() -> Report:
    return msgspec.json.decode((KEPT / "vc-asgd.json").read_bytes(), type=Report)


def test_the_documented_tables_and_pictures_are_those_of_the_kept_results() -> None:
    page = KEPT.with_suffix(".md").read_text("utf-8")
    assert with_tables(page, kept()) == page
    drawn = {path.stem: path.read_text("utf-8") for path in KEPT.glob("*.svg")}
    # The others are those of test_vc_asgd_shape.
    small = {name: one for name, one in drawn.items() if not name.startswith(("virtual-", "paper-"))}
    assert small == pictures(kept())
