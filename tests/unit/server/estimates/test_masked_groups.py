"""The sentence on masked groups has the numbers of the trade-off."""

from __future__ import annotations

import tomllib
from typing import Any

from backend.formats.task_file import TaskFile, parse_task
from backend.server.estimates.masked_groups import group_sentence
from tests.support.tasks.tiny_task import task_toml


def grouped(**privacy: Any) -> TaskFile:
    said = tomllib.loads(task_toml("tiny", {"min_available_clients": 42, "quorum": 24}))
    said["security"] |= {
        "aggregation": ["masked"],
        "robust": {"rule": "median", "attackers": 1, "groups": 5},
    }
    if privacy:
        said["privacy"] = {"mechanism": "distributed", "clip": 1.0} | privacy
    return parse_task(said, "here")


def test_it_says_among_how_many_an_update_is_hidden_and_what_the_rule_bears() -> None:
    sentence = group_sentence(grouped())
    assert sentence is not None
    assert (
        "42 clients in 5 masked groups: an update is hidden among at least 8, and median bears 2" in sentence
    )
    assert "(attackers = 1). Twice as many harm 81% of the rounds" in sentence
    assert "noise" not in sentence


def test_it_says_what_groups_cost_in_noise() -> None:
    sentence = group_sentence(grouped(noise_multiplier=1.0))
    assert sentence is not None
    assert sentence.endswith("The mean has 2.2 times the noise of one sum of all.")


def test_a_task_without_groups_has_none() -> None:
    assert group_sentence(parse_task(tomllib.loads(task_toml("tiny", {})), "here")) is None
