"""Every choice for the protection of volunteers: what it changes, and the rule that refuses it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from backend.errors import MingaError
from backend.formats.task_file import parse_task
from backend.formats.task_file.task_file import TaskFile
from backend.server.estimates.protection_choices import Option, options
from tests.support.tasks.tiny_task import task_toml, volunteer_toml

OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}


def tables(**more: Any) -> dict[str, Any]:
    said = tomllib.loads(task_toml("tiny", {"rounds": 7, "min_available_clients": 2}))
    for name, table in more.items():
        said[name] = table if name == "data" else said.get(name, {}) | table
    return said


def check(said: dict[str, Any]) -> TaskFile:
    return parse_task(said, "task.toml")


def found(said: dict[str, Any]) -> dict[str, Option]:
    return {f"{one.part} {one.key}": one for one in options(said, check, lambda _: None)}


def test_nothing_is_refused_without_the_sentence_of_a_rule(subtests: pytest.Subtests) -> None:
    masked = found(tables(data=OWN))["updates masked"].task
    meshed = tables(data=OWN, coordination={"scheme": "decentralized"}, security={"max_update_norm": 100.0})
    for name, said in {"open": tables(data=OWN), "masked": masked, "meshed": meshed}.items():
        with subtests.test(name):
            for one in found(said).values():
                if one.refused is None:
                    check(one.task)
                    continue
                with pytest.raises(MingaError, match=re.escape(one.refused)):
                    check(one.task)


def test_masks_have_rounds_wait_for_enough_and_say_so() -> None:
    one = found(tables())["updates masked"]
    assert one.refused is None
    assert one.task["security"]["masking"] == {"min_clients": 3}
    changed = {change.key: (change.before, change.after) for change in one.changes}
    assert changed["coordination.min_available_clients"] == (2, 3)
    assert changed["coordination.quorum"][1] == 3
    assert found(one.task)["updates masked"].chosen
    # And back: what was raised stays, masks go.
    assert "masking" not in found(one.task)["updates open"].task["security"]


def test_masked_groups_have_rounds_wait_for_enough_of_each_and_go_with_the_masks() -> None:
    robust = {"rule": "median", "attackers": 1, "groups": 5}
    one = found(tables(security={"robust": robust, "masking": {"min_clients": 4}}))["updates masked"]
    assert one.refused is None
    assert one.task["coordination"]["min_available_clients"] == 20
    opened = found(one.task)["updates open"]
    assert opened.refused is None
    assert opened.task["security"]["robust"] == {"rule": "median", "attackers": 1}


def test_masks_and_noise_take_away_a_rule_on_single_updates_and_say_so() -> None:
    robust = {"rule": "median", "attackers": 1}
    rounds = {"min_available_clients": 5, "quorum": 5}
    choices = found(tables(data=OWN, security={"robust": robust}, coordination=rounds))
    for key in ("updates masked", "noise central", "noise local"):
        assert choices[key].refused is None
        assert choices[key].patch["security"]["robust"] is None
        assert ("security.robust.rule", None) in [(one.key, one.after) for one in choices[key].changes]


def test_work_units_refuse_masks_for_what_they_are_not_for_a_number_of_rounds() -> None:
    refused = found(tomllib.loads(volunteer_toml("tiny")))["updates masked"].refused
    assert refused is not None
    assert 'security.aggregation = ["masked"] cannot be combined with' in refused


def test_noise_in_shares_needs_masks_and_other_noise_none() -> None:
    said = tables(data=OWN)
    assert "needs security.aggregation" in (found(said)["noise distributed"].refused or "")
    masked = found(said)["updates masked"].task
    assert found(masked)["noise distributed"].refused is None
    assert "cannot be combined with masked updates" in (found(masked)["noise central"].refused or "")
    noised = found(masked)["noise distributed"].task
    assert "needs security.aggregation" in (found(noised)["updates open"].refused or "")


def test_what_a_mechanism_cannot_have_is_left_behind() -> None:
    said = tables(
        data=OWN, privacy={"mechanism": "central", "clip": 2.0, "noise_multiplier": 0.7, "tree": True}
    )
    local = found(said)["noise local"].task["privacy"]
    assert local == {"mechanism": "local", "clip": 2.0, "noise_multiplier": 0.7, "delta": 1e-5}
    assert "privacy" not in found(said)["noise none"].task


def test_a_patch_holds_no_more_than_what_changes() -> None:
    said = tables(
        data=OWN, privacy={"mechanism": "central", "clip": 2.0, "noise_multiplier": 0.7, "tree": True}
    )
    assert found(said)["noise none"].patch == {"privacy": None}
    patch = {"mechanism": "local", "delta": 1e-5, "tree": None}
    assert found(said)["noise local"].patch == {"privacy": patch}
    assert found(said)["noise central"].patch == {}


def test_a_mesh_masks_in_groups_and_has_no_noise() -> None:
    said = tables(coordination={"scheme": "decentralized"}, security={"max_update_norm": 100.0})
    choices = found(said)
    assert choices["updates masked"].refused is None
    assert choices["updates masked"].task["coordination"]["min_available_clients"] == 3
    assert all(
        "[privacy] cannot be combined" in (choices[f"noise {one}"].refused or "")
        for one in ("central", "local")
    )
    assert "names two ways" in (choices["updates either"].refused or "")


def test_tables_that_are_not_sound_do_not_end_in_an_error() -> None:
    odd = tables(
        coordination={"min_available_clients": "many", "rounds": []}, security={"aggregation": ["x"]}
    )
    assert found(odd)["updates masked"].refused
