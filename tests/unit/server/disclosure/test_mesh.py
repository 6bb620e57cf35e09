"""What the page says that others can learn where no server adds up."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.formats.task_file import parse_task
from backend.server.disclosure.mesh import disclose_mesh
from backend.server.disclosure.statement import Disclosure
from tests.support.tasks.tiny_task import task_toml
from tests.unit.server.disclosure.test_rounds import OWN, PUBLIC, everything, text


def told(data: dict[str, Any], *, masked: bool = False, **averaging: Any) -> Disclosure:
    """Of a decentralized task."""
    said = tomllib.loads(task_toml("tiny", {"scheme": "decentralized", "fraction_evaluate": 0.0}))
    del said["security"]
    said["data"] = data
    if masked:
        said["security"] = {"aggregation": ["masked"]}
        said["coordination"] |= {"min_available_clients": 3, "quorum": 3}
    said["coordination"]["averaging"] = averaging
    return disclose_mesh(parse_task(said, "here"), None)


def test_the_server_sees_no_update_and_what_it_does_see_is_said() -> None:
    server = text(told(OWN).server)
    assert "The server never receives your update" in server
    for word in (
        "your loss and results",
        "network address",
        "sealed",
        "which peers you are linked with",
        "the mean",
    ):
        assert word in server


def test_a_server_that_invents_peers_is_spoken_of() -> None:
    assert "invented peers" in text(told(PUBLIC).server)


def test_what_updates_of_own_data_give_away_the_group_learns() -> None:
    others = text(told(OWN).participants)
    for word in (
        "labels",
        "a certain example",
        "the examples themselves",
        "Nothing hides it from your group",
    ):
        assert word in others
    assert "nothing else about you" in text(told(PUBLIC).participants)


@pytest.mark.parametrize(
    ("averaging", "sentence"),
    [
        ({"group_size": 12}, "of up to 12, is sent its own part"),
        ({}, "In groups of up to 4 members a small update is sent to every one of them whole"),
        ({"exchange": "full", "group_size": 4}, "Every member of your group is sent your whole update."),
        ({"exchange": "ring"}, "The member after you in the ring"),
    ],
)
def test_who_is_sent_what_of_an_update_depends_on_the_exchange(
    averaging: dict[str, Any], sentence: str
) -> None:
    assert sentence in told(OWN, **averaging).participants[0]


def test_robust_groups_never_send_whole_updates() -> None:
    assert "whole" not in told(OWN, reducer="trimmed_mean").participants[0]


def test_readers_of_the_model_learn_what_they_learn_elsewhere() -> None:
    assert "traces" in told(OWN).readers[0]
    assert "under terms that its owner has not stated" in told(PUBLIC).readers[-1]


def test_nothing_is_said_of_masks_that_are_not_there_or_of_a_server_that_adds_up() -> None:
    for data in (OWN, PUBLIC):
        assert "sees your single update" not in everything(told(data))
        assert "In a masked round" not in everything(told(data))


def test_where_pieces_are_masked_a_group_learns_the_sum_and_on_what_condition_is_said() -> None:
    for data in (OWN, PUBLIC):
        said = told(data, masked=True)
        others = text(said.participants)
        assert said.participants[0].startswith("Your update is masked on your device")
        for word in ("at least 3 updates", "nothing of yours alone", "two sums", "implausibly large"):
            assert word in others
        assert "is sent" not in others
        assert "masked or not" in text(said.server)
    assert "Nothing hides it" not in text(told(OWN, masked=True).participants)
    assert "masked" not in everything(told(OWN))


def test_members_that_check_each_other_see_whole_updates_and_keep_what_was_signed() -> None:
    said = tomllib.loads(task_toml("tiny", {"scheme": "decentralized", "byzantine": "{}"}))
    del said["security"], said["data"]["shards_per_client"]
    said["training"] = {"steps": 10}
    others = disclose_mesh(parse_task(said, "here"), None).participants
    assert others[0].startswith("Each member of your group, of up to 32, is sent its own part")
    assert "up to 4 members" not in others[0]
    assert others[1].startswith("Members check each other's work: in some rounds one of them")
    assert others[2].startswith("Members keep what your device signs.")
    said["coordination"]["byzantine"] = {"validators": 0}
    assert "does your work again" not in text(disclose_mesh(parse_task(said, "here"), None).participants)
