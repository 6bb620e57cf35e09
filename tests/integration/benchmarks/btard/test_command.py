"""The benchmark of Byzantine meshes as its users run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]


def benchmark(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.btard", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def figures(*words: str) -> dict[str, Any]:
    done = benchmark(*words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_small_table_prints_its_figures_and_resumes(tmp_path: Path) -> None:
    small = ["--table", "--peers", "5", "--byzantine", "2", "--rounds", "20", "--starts", "6", "--every", "1"]
    words = [*small, "--attacks", "sign", "--runs-in", str(tmp_path)]
    found = figures(*words)
    assert {(row["defence"], row["attack"]) for row in found["rows"]} == {
        ("mean", None),
        ("btard", None),
        ("mean", "sign"),
        ("clip", "sign"),
        ("btard", "sign"),
    }
    assert found["banned_honest"] == found["different_bits"] == found["lost"] == 0
    assert found["worst_gap"] == found["worst_gap_btard"]
    assert len(list(tmp_path.iterdir())) == 5
    assert figures(*words) == found


def test_the_cost_of_a_round_does_not_depend_on_the_number_of_parameters() -> None:
    rows = figures("--cost", "--peers", "4", "--parameters", "1000", "20000")["rows"]
    assert rows[0]["control_bytes"] == rows[1]["control_bytes"] > 0
    assert {row["work_share"] for row in rows} == {0.25}


def test_bans_are_compared_with_chance() -> None:
    words = ("--peers", "5", "--byzantine", "2", "--validators", "1", "--runs", "1")
    (row,) = figures(*words)["rows"]
    assert (row["banned"], row["banned_honest"]) == (2, 0)
    assert row["chance"] > 0.0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Give one of"),
        (("--table", "--cost"), "Give one of"),
        (("--backends", "--exact"), "Give one of"),
        (("--exact", "--rounds", "1"), "give more rounds"),
        (("--table", "--byzantine", "8"), "fewer than half"),
        (("--churn", "0.5"), "Less than half"),
        (("--table", "--radius", "0"), "a radius is above 0"),
        (("--table", "--by-processes", "50"), "given with --starts"),
        (("--table", "--by-processes", "100", "--contiguous"), "leave out --contiguous"),
        (("--attack", "sign", "--browsers", "9"), "give fewer"),
        (("--attack", "sign", "--figure", "curves.png"), "ends in .svg"),
    ],
)
def test_bad_arguments_are_refused_in_words(words: tuple[str, ...], sentence: str) -> None:
    done = benchmark(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
