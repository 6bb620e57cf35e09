"""docs/how-to/withstand-lying-clients.md: its task file and its numbers."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from backend.commands.build import build_task
from backend.errors import TaskFileError
from backend.formats.task_file import RobustTable, parse_task
from backend.numerics.aggregators.group_tolerance import trade_off
from backend.numerics.aggregators.table import AGGREGATORS, SPECS
from tests.integration.commands.command_runner import minga
from tests.integration.docs.test_docs import ROOT, blocks
from tests.support.tasks.tiny_task import task_toml
from tests.support.timeouts import LONG

PAGE = ROOT / "docs/how-to/withstand-lying-clients.md"
TEXT = PAGE.read_text("utf-8")
ROWS = [
    (re.findall(r"`([a-z-]+)`", names), [int(number) for number in numbers.split("|")])
    for names, numbers in re.findall(r"^\| (`.*?) \| (\d+ \| .*?) \|$", TEXT, re.M)
]


def task_of_the_page(number: int = 0, **changes: int) -> RobustTable:
    task = tomllib.loads(task_toml("tiny", {}))
    pages = [tomllib.loads(one) for one in blocks(PAGE, "toml")]
    written = [one for one in pages if "coordination" in one][number]
    task["security"] = written["security"]
    if not number:
        for one in pages:
            task["security"] |= {} if "coordination" in one else one["security"]
    task["coordination"] |= written["coordination"] | changes
    robust = parse_task(task, "here").security.robust
    assert robust is not None
    return robust


def test_its_task_file_is_accepted() -> None:
    assert task_of_the_page().words == "nnm + multi-krum"


def test_its_masked_groups_are_accepted_and_as_large_as_said() -> None:
    robust = task_of_the_page(1)
    assert (robust.groups, robust.least, robust.attackers) == (5, 3, 1)
    with pytest.raises(TaskFileError, match=r"5 groups .* would have 7 clients"):
        task_of_the_page(1, min_available_clients=39)


def test_its_trade_offs_are_computed() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (0\.\d+) \| (\d\.\d) \|$", TEXT, re.M)
    assert len(rows) == 4
    for groups, *written in rows:
        found = trade_off(40, int(groups), SPECS["trimmed-mean"].tolerance)
        told = f"{found.smallest} {found.borne} {found.chance_of_twice:.2f} {found.noise:.1f}"
        assert " ".join(written) == told


def test_its_refusal_is_what_is_said() -> None:
    (sentence,) = re.findall(r"numbers: `(.*?)`", TEXT, re.S)
    with pytest.raises(TaskFileError, match=re.escape(sentence.replace("\n", " "))):
        task_of_the_page(quorum=4)


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(LONG)
def test_its_attack_runs_as_it_says(tmp_path: Path) -> None:
    lines = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]
    (command,) = [line for line in lines if line.startswith("minga attack ")]
    build_task(ROOT / "models" / "digits")
    words = shlex.split(command.replace("attacks.html", str(tmp_path / "attacks.html")))[1:]
    done = minga(*words, "--rounds", "1")
    assert done.returncode == 0, done.stderr
    for name in ("mean", "multi-krum", "nnm+trimmed-mean", "none", "alie", "nan"):
        assert name in done.stdout
        assert f"<th>{name}</th>" in (tmp_path / "attacks.html").read_text("utf-8")


def test_its_numbers_of_clients_are_those_of_the_rules() -> None:
    named = {name for names, _ in ROWS for name in names}
    assert named == set(AGGREGATORS) - {"mean", "fools-gold"}
    for names, numbers in ROWS:
        for name in names:
            assert [SPECS[name].least(f) for f in (1, 2, 3, 5)] == numbers
