"""Tests the form of decision records: Context, Decision, Consequences, at most 60 lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

RECORDS = sorted((Path(__file__).parents[3] / "docs/decisions").glob("*.md"))
SECTIONS = ["Context", "Decision", "Consequences"]
MOST_LINES = 60


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_record_has_its_sections_in_order(record: Path) -> None:
    content = record.read_text("utf-8")
    assert re.match(r"# \S", content), "the first line is the title"
    assert re.findall(r"^## (.*)$", content, re.MULTILINE) == SECTIONS
    bodies = re.split(r"^## .*$", content, flags=re.MULTILINE)[1:]
    assert all(body.strip() for body in bodies), "a section is empty"
    assert len(content.splitlines()) <= MOST_LINES


def test_records_have_different_numbers() -> None:
    numbers = [record.name[:4] for record in RECORDS]
    assert all(number.isdigit() for number in numbers)
    assert len(set(numbers)) == len(numbers)
