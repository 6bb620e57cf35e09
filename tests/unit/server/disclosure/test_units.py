"""What the page says that others can learn of who trains work units."""

from __future__ import annotations

import tomllib
from typing import Any

from backend.formats.task_file import parse_task
from backend.server.disclosure.statement import Disclosure
from backend.server.disclosure.units import disclose_units
from tests.support.tasks.tiny_task import volunteer_toml
from tests.unit.server.disclosure.test_rounds import text


def told(**units: Any) -> Disclosure:
    """Of a task of work units."""
    return disclose_units(parse_task(tomllib.loads(volunteer_toml("tiny", **units)), "here"), None)


def test_the_server_sees_results_one_by_one_and_says_what_it_remembers() -> None:
    server = text(told().server)
    for word in (
        "your single result",
        "public examples",
        "how many were right",
        "how long each took",
        "network address",
    ):
        assert word in server


def test_where_nothing_is_compared_nothing_is_said_of_trust() -> None:
    assert "how many were right" not in text(told(trust={"replicas": 1, "spot_checks": 0.0}).server)
    assert "how many were right" in text(told(trust={"replicas": 1}).server)


def test_others_can_work_out_single_results_and_there_are_no_rounds() -> None:
    told_all = told()
    others = text(told_all.participants)
    assert "never sent your result" in others
    assert "blended in between" in others
    assert "round" not in others + text(told_all.server)
    assert "nothing of yours in it" in text(told_all.readers)


def test_whether_made_up_results_come_into_the_model_is_said() -> None:
    peer = {"trusted": ["0123456789abcdef"]}
    assert "confirm each other's" in text(told().participants)
    assert "a single client can send some that are not compared" in text(told().participants)
    assert "repeats samples" in text(told(trust=peer).participants)
    unchecked = {"replicas": 1, "spot_checks": 0.0}
    assert "No results are compared here" in text(told(trust=unchecked).participants)
