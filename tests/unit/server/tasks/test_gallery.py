"""The gallery shows first where one more volunteer helps most, and finds tasks by words and topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from backend.server.tasks.gallery import Search, by_need, missing, topics, words

GOLDEN = json.loads((Path(__file__).parents[3] / "contract/vectors/search.json").read_text("utf-8"))


def task(title: str, participants: int, wanted: int, phase: str = "waiting") -> dict[str, Any]:
    return {"title": title, "participants": participants, "wanted": wanted, "phase": phase}


def test_a_task_that_lacks_one_comes_before_one_that_lacks_many_and_a_finished_one_last() -> None:
    done = task("done", 0, 2, "finished")
    lonely, nearly = task("lonely", 0, 8), task("nearly", 7, 8)
    busy, running = task("busy", 9, 2, "training"), task("running", 2, 2, "training")
    assert by_need([done, busy, lonely, running, nearly]) == [nearly, lonely, running, busy, done]


def test_of_tasks_that_are_alike_the_order_is_that_of_their_titles() -> None:
    first, second = task("a", 1, 3), task("b", 1, 3)
    assert by_need([second, first]) == [first, second]


def test_a_finished_task_and_one_with_enough_volunteers_lack_nobody() -> None:
    assert [missing(task("t", *one)) for one in ((1, 3), (3, 3), (5, 3))] == [2, 0, 0]
    assert missing(task("t", 0, 3, "finished")) == 0


def test_topics_come_by_how_many_tasks_have_them() -> None:
    assert topics(GOLDEN["tasks"]) == ["own files", "images", "tables", "text"]


@pytest.mark.parametrize("search", GOLDEN["searches"], ids=lambda one: f"{one['words']}/{one['topic']}")
def test_a_search_finds_what_has_all_its_words_and_its_topic(search: dict[str, Any]) -> None:
    asked = Search(search["words"], search["topic"])
    assert [one["name"] for one in GOLDEN["tasks"] if asked.matches(one)] == search["found"]


def test_what_is_looked_through_is_in_lower_case() -> None:
    assert words(GOLDEN["tasks"][0]) == "digits handwritten digits a small network reads. images"
