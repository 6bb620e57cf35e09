"""Traces of life times."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from backend.errors import SettingsError
from backend.simulation.units.life_times import exponential_lives, read_trace, recorded_lives


@pytest.mark.parametrize("text", ["10\n20.5\n", "seconds\n10\n20.5\n"])
def test_a_trace_is_one_number_a_line_below_a_header_or_none(tmp_path: Path, text: str) -> None:
    trace = tmp_path / "lives.csv"
    trace.write_text(text)
    assert read_trace(trace) == [10.0, 20.5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("10\n-3\n", "line 2 is '-3'; write the seconds of one life"),
        ("seconds\n10\n\n7\n", "line 3 is empty"),
        ("nan\n", "line 1 is 'nan'"),
        ("inf\n", "line 1 is 'inf'"),
        ("0\n", "line 1 is '0'"),
        ("10,5\n", "line 1 is '10,5'"),
        ("long\n", "or delete the line"),
        ("", "has no life times"),
        ("seconds\n", "has no life times"),
    ],
)
def test_what_is_no_life_is_refused_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    trace = tmp_path / "lives.csv"
    trace.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        read_trace(trace)


def test_a_trace_in_json_is_a_list_of_numbers(tmp_path: Path) -> None:
    trace = tmp_path / "lives.json"
    trace.write_text("[10, 20.5]")
    assert read_trace(trace) == [10.0, 20.5]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[10, -3]", "item 2 is -3.0; write the seconds of one life, a number above 0"),
        ("[0]", "item 1 is 0"),
        ("[NaN]", "item 1 is NaN"),
        ("[Infinity]", "item 1 is Infinity"),
        ("[true]", "item 1 is true"),
        ('["10"]', 'item 1 is "10"'),
        ("[null]", "or delete the item"),
        ("[[10]]", "item 1 is [10.0]"),
        (f"[1{'0' * 5000}]", "item 1 is Infinity"),
        ("[]", "has no life times"),
        ('{"seconds": [10]}', "is no list; write the seconds of all lives as [1800, 640.5]"),
        ("[10", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
    ],
)
def test_what_is_no_life_in_json_is_refused_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    trace = tmp_path / "lives.json"
    trace.write_text(text)
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        read_trace(trace)


def test_a_trace_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_trace(tmp_path / "none.csv")


def test_drawn_lives_have_their_mean_and_recorded_ones_are_drawn_from_the_trace() -> None:
    random = Random(1)
    drawn = [exponential_lives(100.0)(random) for _ in range(2000)]
    assert sum(drawn) / len(drawn) == pytest.approx(100.0, rel=0.1)
    assert {recorded_lives([3.0, 8.0])(random) for _ in range(50)} == {3.0, 8.0}
