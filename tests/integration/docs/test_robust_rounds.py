"""docs/how-to/withstand-lying-clients.md: its task file and its numbers."""

from __future__ import annotations

import re
import tomllib

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import RobustTable, parse_task
from backend.numerics.aggregators.table import AGGREGATORS, SPECS
from tests.integration.docs.test_docs import ROOT, blocks
from tests.support.tasks.tiny_task import task_toml

PAGE = ROOT / "docs/how-to/withstand-lying-clients.md"
TEXT = PAGE.read_text("utf-8")
ROWS = [
    (re.findall(r"`([a-z-]+)`", names), [int(number) for number in numbers.split("|")])
    for names, numbers in re.findall(r"^\| (`.*?) \| (\d+ \| .*?) \|$", TEXT, re.M)
]


def task_of_the_page(**changes: int) -> RobustTable:
    task = tomllib.loads(task_toml("tiny", {}))
    written, reputation = blocks(PAGE, "toml")
    task |= tomllib.loads(written)
    task["security"] |= tomllib.loads(reputation)["security"]
    task["coordination"] |= changes
    robust = parse_task(task, "here").security.robust
    assert robust is not None
    return robust


def test_its_task_file_is_accepted() -> None:
    assert task_of_the_page().words == "nnm + multi-krum"


def test_its_refusal_is_what_is_said() -> None:
    (sentence,) = re.findall(r"numbers: `(.*?)`", TEXT, re.S)
    with pytest.raises(TaskFileError, match=re.escape(sentence.replace("\n", " "))):
        task_of_the_page(quorum=4)


def test_its_numbers_of_clients_are_those_of_the_rules() -> None:
    named = {name for names, _ in ROWS for name in names}
    assert named == set(AGGREGATORS) - {"mean", "fools-gold"}
    for names, numbers in ROWS:
        for name in names:
            assert [SPECS[name].least(f) for f in (1, 2, 3, 5)] == numbers
