"""The benchmark of Byzantine meshes with real processes: a server, peers with TensorFlow, and pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.btard.processes.comparison import rounds_to_clean
from tests.integration.benchmarks.btard.test_command import figures

CLEAN = [0.2, 0.4, 0.5, 0.6, 0.62, 0.64, 0.66, 0.68]


def test_a_training_without_a_dip_is_clean_at_once() -> None:
    assert rounds_to_clean(CLEAN, CLEAN, 21) == 0


def test_a_dip_is_over_with_the_first_of_three_measurements_that_are_as_good_on_the_mean() -> None:
    attacked = [0.2, 0.4, 0.1, 0.6, 0.1, 0.63, 0.65, 0.67]
    assert rounds_to_clean(CLEAN, attacked, 21) == 40


def test_a_model_that_stays_worse_is_never_clean_again() -> None:
    assert rounds_to_clean(CLEAN, [0.2, 0.4, *[0.1] * 6], 21) is None


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.parametrize("attack", ["label", "alie"])
def test_a_liar_among_real_peers_is_banned_and_nobody_else(attack: str) -> None:
    words = ("--peers", "4", "--byzantine", "1", "--rounds", "40", "--start", "4", "--patience", "10")
    (row,) = figures("--attack", attack, *words)["rows"]
    assert row["banned"] == 1
    assert row["banned_honest"] == row["different_bits"] == 0
    assert {name: len(curve) for name, curve in row["curves"].items()} == dict.fromkeys(
        ("clean", "mean", "clip", "btard"), 4
    )


@pytest.mark.long
@pytest.mark.tensorflow
def test_the_table_has_a_cell_by_real_processes_and_resumes(tmp_path: Path) -> None:
    words = ["--table", "--peers", "4", "--byzantine", "1", "--rounds", "40", "--starts", "4", "--every", "1"]
    words += ["--attacks", "sign", "--by-processes", "4", "--patience", "10", "--runs-in", str(tmp_path)]
    found = figures(*words)
    by_processes = [row for row in found["rows"] if "seconds_a_round" in row]
    assert [(row["defence"], row["attack"]) for row in by_processes] == [("btard", "sign")]
    assert (found["banned"], found["banned_honest"], found["different_bits"]) == (1, 0, 0)
    assert [path.name for path in tmp_path.glob("processes-*")] == [
        "processes-digits-r40-1of4-m1-radiusauto-btard-sign-4-1-s0.json"
    ]
    assert figures(*words) == found


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.browser
def test_a_page_is_a_member_and_a_radius_may_be_too_large() -> None:
    words = ("--peers", "4", "--byzantine", "1", "--rounds", "10", "--start", "2", "--patience", "20")
    (row,) = figures("--attack", "sign", "--browsers", "1", "--radius-times", "10", *words)["rows"]
    assert row["banned_honest"] == row["different_bits"] == 0
    assert len(row["curves"]["btard"]) == 1
