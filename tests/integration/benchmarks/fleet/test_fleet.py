"""Both fleets train by real servers and peers, of which the trace kills one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks.fleet.lives import life_times
from benchmarks.fleet.report import Report
from benchmarks.support.dense_task import ROOT
from tests.support.plugins.requirements import real_data

# Of two lives, one is over after two seconds of the run, and the other longer than the run.
SHORT, LONG = 200.0, 360_000.0
HOUR, MACHINES = 36.0, 2


def seed_with_one_kill(trace: Path) -> int:
    """Returns the first seed with which only the first machine's first life is short."""
    lives = life_times("exponential", 1.0, trace, HOUR)
    for seed in range(100):
        first, second = (lives.of_machine(seed, number) for number in range(MACHINES))
        drawn = [next(first).seconds, next(first).seconds, next(second).seconds]
        if drawn == [SHORT * lives.scale, LONG * lives.scale, LONG * lives.scale]:
            return seed
    raise AssertionError("no seed has these lives")


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("flags", [["--predict"], ["--notice", "100", "--standby"]], ids=["killed", "notice"])
def test_a_killed_peer_is_replaced_and_the_training_ends(tmp_path: Path, flags: list[str]) -> None:
    trace = tmp_path / "lives.csv"
    trace.write_text(f"{SHORT}\n{LONG}\n")
    seed = seed_with_one_kill(trace)
    words = ["--machines", str(MACHINES), "--epochs", "6", "--examples", "200", "--rows", "20"]
    words += ["--trace", str(trace), "--hour", str(HOUR), "--share", "0.05", "--seed", str(seed), *flags]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fleet", *words, "--instance", "n1-standard-4", "--json"],
        cwd=ROOT,
        env=os.environ | {"MINGA_DATA": str(real_data("cifar10_train.zip").parent)},
        check=True,
        capture_output=True,
        text=True,
    )
    found = msgspec.convert(json.loads(done.stdout), Report)
    assert (found.settings["lives"], found.settings["units"]) == ("trace lives.csv", 10)
    standard, preemptible = found.standard, found.preemptible
    assert (standard.kills, standard.processes, standard.lost_steps) == (0, MACHINES, 0)
    assert preemptible.kills == 1
    assert preemptible.processes <= MACHINES + 1
    for fleet in (standard, preemptible):
        assert fleet.results >= 60
        assert fleet.wasted_steps >= fleet.lost_steps
        assert fleet.leases >= fleet.results
        assert 0 < fleet.accuracy < 1
        assert 0 < fleet.busy_hours <= fleet.rented_hours
    assert found.seconds_ratio > 0
    assert (found.predicted_seconds_ratio is not None) == ("--predict" in flags)
    assert 0 < found.cost_ratio < found.seconds_ratio
    assert [one.instance for one in found.costs] == ["n1-standard-4"]
