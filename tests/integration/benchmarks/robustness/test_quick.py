"""The benchmark of robustness as its users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.plugins.requirements import real_data
from tests.support.timeouts import HEAVY

ROOT = Path(__file__).parents[4]


def benchmark(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.robustness", *words]
    return subprocess.run(command, cwd=ROOT, env={**os.environ}, capture_output=True, text=True, check=False)


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_a_quick_run_prints_its_figures_and_resumes(tmp_path: Path) -> None:
    words = ("--quick", "--json", "--rules", "median", "--attacks", "scaled", "--runs", str(tmp_path))
    done = benchmark(*words)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert {(row["rule"], row["attack"]) for row in figures["rows"]} == {
        (rule, attack) for rule in ("mean", "median") for attack in ("none", "scaled")
    }
    assert figures["best_iid"] == "median"
    assert figures["clean_iid"] > 0.8
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_pictures_of_volunteers_are_a_sample_of_the_real_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = real_data("cifar10_train.zip").parent
    words = ("--task", "cifar10", "--quick", "--json", "--rules", "dnc", "--attacks", "sign-flip")
    monkeypatch.setenv("MINGA_DATA", str(tmp_path))
    refused = benchmark(*words)
    assert refused.returncode == 2
    assert "set MINGA_DATA" in refused.stderr
    monkeypatch.setenv("MINGA_DATA", str(data))
    done = benchmark(*words)
    assert done.returncode == 0, done.stderr
    assert 0.1 < json.loads(done.stdout)["clean_iid"] < 0.6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--attackers", "10"), "fewer attackers than clients"),
        (("--groups", "11"), "a client for each"),
        (("--alpha", "0"), "a number above 0"),
        (("--rules", "majority"), "There is no rule majority"),
        (("--rules", "reputation+majority"), "There is no rule majority"),
        (("--rules", "reputation+mean", "--groups", "3"), "no reputation"),
    ],
)
def test_bad_arguments_are_refused_in_words(words: tuple[str, ...], sentence: str) -> None:
    done = benchmark("--quick", *words)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.split())
