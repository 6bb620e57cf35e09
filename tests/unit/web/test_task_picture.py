"""Every task has a picture of its own, which its name decides."""

from __future__ import annotations

import re

import pytest

from backend.web.pages.task_picture import QUARTER, cells, picture

NAMES = ("digits", "letters", "birds-2", "x")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_same_each_time_and_mirrored_in_both_directions(name: str) -> None:
    rows = cells(name)
    assert rows == cells(name) == rows[::-1]
    assert {len(row) for row in rows} == {2 * QUARTER} == {len(rows)}
    assert all(row == row[::-1] for row in rows)


def test_names_have_different_pictures() -> None:
    pictures = {picture(f"task-{number}") for number in range(100)}
    assert len(pictures) > 80


@pytest.mark.parametrize("name", NAMES)
def test_the_drawing_has_every_thread_of_the_pattern_and_stays_small(name: str) -> None:
    svg = picture(name)
    assert len(svg) < 4000
    area: dict[str, int] = {}
    for thread, path in re.findall(r'<path class="(\w)" d="([^"]*)"', svg):
        area[thread] = sum(int(width) for width in re.findall(r"h(\d+)v1", path))
    assert area == {thread: "".join(cells(name)).count(thread) for thread in "abc"}
    assert sum(area.values()) > 20


def test_a_name_cannot_write_into_the_page() -> None:
    assert "script" not in picture('"><script>')
