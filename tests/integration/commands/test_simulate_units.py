"""`minga simulate` of work units, run as its users run it, and `minga cost` of its record."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tests.integration.commands import command_runner
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS, write_task, write_units

FEW = ("--clients", "12", "--seed", "7", "--epochs", "2")

minga = partial(command_runner.minga, "simulate")
facts = partial(command_runner.facts, "simulate")


@pytest.fixture
def units(tmp_path: Path) -> Path:
    return write_units(tmp_path / "units", lease=60)


def test_the_same_seed_gives_the_same_figures_and_each_unit_has_one_outcome(units: Path) -> None:
    words = (units, *FEW, "--churn", "0.3", "--life", "60", "--at-once", "2")
    first = facts(*words)
    assert first == facts(*words)
    plan = first["plan"]
    assert (first["scheme"], len(plan["epoch_ends"]), plan["finished"]) == ("volunteer", 2, True)
    assert sum(row["units"] for row in plan["outcomes"]) == plan["handed_out"] >= 2 * 2 * SHARDS
    assert plan["preemptions"] > 0


def test_the_report_fits_a_terminal_of_80_columns_and_says_what_is_meant(units: Path) -> None:
    done = minga(units, *FEW, "--churn", "0.3", "--store", "redis", "--parameter-servers", "2")
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(len(line) for line in lines) <= 80
    assert "  Tiny  2 epochs with 12 clients, 30% of their units broken off" in lines
    for words in ("  Units handed out", "  Devices", "at most 2 (redis)", "by dropping out"):
        assert any(words in line for line in lines), words


def test_the_cost_of_a_simulation_is_computed_from_its_record(units: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    trust = (
        "--set",
        "coordination.units.trust.replicas=1",
        "--set",
        "coordination.units.trust.spot_checks=0",
    )
    plan = facts(units, *FEW, *trust, "--record", str(record))["plan"]
    told = command_runner.facts("cost", "--record", record)
    assert (told["task"], told["scheme"], told["passes"]) == ("units", "volunteer", 2)
    assert told["seconds"] == plan["seconds"]
    assert sum(client["examples"] for client in told["clients"]) == 2 * SHARDS * EXAMPLES
    assert (told["bytes_down"], told["bytes_up"]) == (plan["server_bytes_out"], plan["server_bytes_in"])
    text = command_runner.minga("cost", "--record", record, "--instance", "c5.2xlarge").stdout
    assert "2 epochs" in text
    assert "c5.2xlarge" in text


@pytest.mark.parametrize("words", [(), ("tiny", "--record", "record.json")])
def test_a_cost_is_that_of_a_task_or_of_a_record(words: tuple[str, ...]) -> None:
    done = command_runner.minga("cost", *words)
    assert done.returncode == 2
    assert "Give the name of a task, or the record of a simulation" in done.stderr


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    file.write_text(json.dumps({"record": {}}))
    done = command_runner.minga("cost", "--record", file)
    assert done.returncode == 2
    assert "is no record of a training" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--train"], "--train goes with tasks of rounds, and this one has work units; leave it out"),
        (["--variants"], "--variants goes with tasks of rounds"),
        (["--rounds", "3"], "--rounds goes with tasks of rounds"),
        (["--examples", "3"], "--examples goes with tasks of rounds"),
        (["--server-cores", "0"], "'0' is"),
        (["--evaluation", "0"], "'0' is not a time; give seconds above 0"),
        (["--life", "0"], "'0' is not a time; give seconds above 0"),
        (["--at-once", "65"], "a client holds at most 64 units"),
        (["--parameter-servers", "0"], "give a number such as 3, or a range such as 1-4"),
        (["--clients", "1"], "1 clients are fewer than the 2 that repeat a newcomer's unit"),
        (["--trace", "TRACE"], "line 2 is '-4'; write the seconds of one life"),
        (["--trace", "TRACE", "--life", "5"], "leave one out"),
    ],
)
def test_what_cannot_be_tried_is_refused_with_a_sentence(
    units: Path, tmp_path: Path, words: list[str], sentence: str
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("10\n-4\n")
    done = minga(units, *(str(trace) if word == "TRACE" else word for word in words))
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_flags_of_work_units_are_refused_for_rounds(tmp_path: Path) -> None:
    done = minga(write_task(tmp_path / "rounds"), "--at-once", "2")
    assert done.returncode == 2
    assert "--at-once goes with tasks of work units, and this one has rounds; leave it out" in done.stderr
