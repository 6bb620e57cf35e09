"""The robust rules and the masked groups that the wizard offers, with what each bears, and why none fits."""

from __future__ import annotations

import copy
import tomllib
from typing import Any

from backend.formats.task_file import TaskFile, parse_task
from backend.server.estimates.robust.rule_choices import robust_choices
from tests.support.tasks.tiny_task import task_toml, volunteer_toml

PARAMETERS = 5_000_000


def check(tables: dict[str, Any]) -> TaskFile:
    return parse_task(copy.deepcopy(tables), "here")


def tables(*aggregation: str, **tables: dict[str, Any]) -> dict[str, Any]:
    """A task of eight clients with tables of [security] and others."""
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": 8, "quorum": 8}))
    task["security"]["aggregation"] = list(aggregation or ["open"])
    for name, changes in tables.items():
        task[name] = task.get(name, {}) | changes
    return task


def found(task: dict[str, Any], clients: int, parameters: int | None = PARAMETERS) -> dict[str, Any]:
    answer = robust_choices(task, clients, parameters, check, lambda _tables: None)
    assert answer is not None
    return answer | {"options": {one["key"]: one for one in answer["options"]}}


def test_ten_participants_get_a_rule_that_bears_two_of_them_with_its_cost() -> None:
    answer = found(tables(), 10)
    assert (answer["proposed"], answer["reason"]) == ("distinct + nnm + trimmed-mean", None)
    option = answer["options"]["distinct + nnm + trimmed-mean"]
    assert "2 of 10 participants may lie. A version needs at least 5 updates." in option["text"]
    assert "about 0.19 s of processor time; the mean takes 0.034 s." in option["text"]
    assert option["patch"] == {
        "security": {"robust": {"rule": "trimmed-mean", "attackers": 2, "before": ["distinct", "nnm"]}}
    }
    assert answer["options"]["mean"]["chosen"]


def test_a_rule_raises_the_clients_of_rounds_that_are_too_small_for_it() -> None:
    option = found(tables(coordination={"min_available_clients": 2, "quorum": 1}), 20)["options"][
        "multi-krum"
    ]
    assert option["patch"]["coordination"] == {"min_available_clients": 11, "quorum": 11}
    assert [one["key"] for one in option["changes"]] == [
        "coordination.min_available_clients",
        "coordination.quorum",
    ]


def test_without_a_model_no_cost_is_stated_and_of_a_small_one_no_figure() -> None:
    assert "less than 0.01 s" in found(tables(), 10, 5000)["options"]["median"]["text"]
    assert "processor" not in found(tables(), 10, None)["options"]["median"]["text"]


def test_too_few_participants_get_no_proposal_and_the_reason() -> None:
    answer = found(tables(), 4)
    assert answer["proposed"] is None
    assert answer["reason"].startswith("No rule is proposed for 4 participants in a round")
    # Rules that bear one of four remain a choice; Multi-Krum bears none of four.
    assert "median" in answer["options"]
    assert "multi-krum" not in answer["options"]
    assert list(found(tables(), 2)["options"]) == ["mean"]


def test_a_model_too_large_for_short_rounds_gets_a_cheaper_rule_or_none() -> None:
    short = tables(coordination={"deadline": 60.0})
    assert found(short, 40, 15_000_000)["proposed"] == "trimmed-mean"
    answer = found(short, 1000, 500_000_000)
    assert answer["proposed"] is None
    assert "too long for rounds as short as these" in answer["reason"]


def test_the_rule_of_the_task_is_chosen_with_the_attackers_that_it_states() -> None:
    robust = {"rule": "median", "attackers": 3}
    option = found(tables(security={"aggregation": ["open"], "robust": robust}), 10)["options"]["median"]
    assert option["chosen"]
    assert "3 of 10 participants may lie. A version needs at least 7 updates." in option["text"]
    assert option["patch"] == {}


def test_a_rule_that_is_not_offered_stays_chosen_as_the_task_file_has_it() -> None:
    robust = {"rule": "krum", "attackers": 2}
    answer = found(tables(security={"aggregation": ["open"], "robust": robust}), 10)
    own = answer["options"]["own"]
    assert (own["title"], own["chosen"]) == ("As in the task file: krum", True)
    assert "2 of 10 participants may lie. A version needs at least 7 updates." in own["text"]
    odd = found(tables(security={"aggregation": ["open"], "robust": {"rule": "magic"}}), 10)
    assert odd["options"]["own"]["chosen"]
    assert odd["options"]["mean"]["patch"] == {"security": {"robust": None}}


def test_masked_groups_state_what_they_hide_bear_and_cost() -> None:
    answer = found(tables("masked"), 40)
    assert answer["proposed"] is None
    assert "that is for you to choose" in answer["reason"]
    groups = [key for key in answer["options"] if key.startswith("groups")]
    assert groups == ["groups-3-1", "groups-5-2", "groups-7-3", "groups-11-5"]
    five = answer["options"]["groups-5-2"]
    assert five["title"] == "5 groups of about 8"
    assert five["text"].startswith("An update is hidden among at least 6. 2 of 40 participants may lie")
    assert "with 4 that lie, 81% of rounds can be harmed" in five["text"]
    assert five["refused"] is None
    assert five["patch"]["security"] == {
        "robust": {"rule": "trimmed-mean", "attackers": 2, "groups": 5},
        "masking": {"min_clients": 6},
    }
    assert five["patch"]["coordination"] == {"min_available_clients": 30, "quorum": 30}


def test_noise_of_clients_makes_groups_cost_more() -> None:
    noise = {"mechanism": "distributed", "clip": 1.0, "noise_multiplier": 1.0}
    text = found(tables("masked", privacy=noise), 40)["options"]["groups-5-2"]["text"]
    assert text.endswith("The noise in the mean is 2.2 times that of one sum of all.")


def test_too_few_participants_for_masked_groups_are_told_how_many_it_takes() -> None:
    answer = found(tables("masked"), 8)
    assert list(answer["options"]) == ["mean"]
    assert "needs 9 participants in a round, and 8 are expected" in answer["reason"]


def test_groups_that_the_task_has_are_chosen_and_say_among_how_many_it_hides() -> None:
    robust = {"rule": "trimmed-mean", "attackers": 2, "groups": 5}
    task = tables(
        security={"aggregation": ["masked"], "robust": robust, "masking": {"min_clients": 8}},
        coordination={"min_available_clients": 40, "quorum": 40},
    )
    option = found(task, 40)["options"]["groups-5-2"]
    assert option["chosen"]
    assert option["text"].startswith("An update is hidden among at least 8.")
    robust["attackers"] = 1
    own = found(task, 40)["options"]["own"]
    assert own["chosen"]
    assert "1 of 40 participants may lie" in own["text"]


def test_what_a_form_cannot_combine_is_refused_by_the_sentence_of_the_task_files_rule() -> None:
    task = tables("masked", security={"aggregation": ["masked"], "masking": {"share": 0.5}})
    refused = found(task, 40)["options"]["groups-3-1"]["refused"]
    assert "security.masking.share cannot be combined with security.robust.groups" in refused
    scaffold = tables(training={"control_variates": True})
    assert "control_variates cannot be combined" in found(scaffold, 10)["options"]["median"]["refused"]
    both = found(tables("masked", "open"), 40)
    assert list(both["options"]) == ["mean"]
    assert "Choose one way" in both["reason"]


def test_schemes_without_a_server_that_averages_rounds_have_no_choice() -> None:
    for task in (tables(coordination={"scheme": "decentralized"}), tomllib.loads(volunteer_toml("tiny"))):
        assert robust_choices(task, 10, PARAMETERS, check, lambda _tables: None) is None
