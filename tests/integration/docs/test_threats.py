"""The table of threats and the sentences of the pages say the same: each sentence stands in the table."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from backend.formats.task_file import TaskFile, parse_task
from backend.server.schemes import scheme_of
from tests.support.tasks.tiny_task import task_toml, volunteer_toml

THREATS = Path(__file__).parents[3] / "docs" / "explanation" / "threats.md"
OWN = {"source": "volunteer", "preprocess": {"kind": "array"}}
PUBLIC = {"source": "shards", "shards": "built/shards"}
PEER = {"trusted": ["0123456789abcdef"]}


def rounds(aggregation: list[str], data: dict[str, Any] = OWN, **tables: dict[str, Any]) -> TaskFile:
    measured = 0.5 if aggregation == ["open"] and data is OWN and "privacy" not in tables else 0.0
    chosen = {"min_available_clients": 5, "quorum": 5, "fraction_evaluate": measured}
    said = tomllib.loads(task_toml("tiny", chosen))
    said["data"] = data
    said["security"]["aggregation"] = aggregation
    if "masked" in aggregation:
        said["security"]["masking"] = {"min_clients": 5}
    for name, table in tables.items():
        said[name] = said.get(name, {}) | table
    return parse_task(said, "here")


def noise(mechanism: str) -> dict[str, Any]:
    return {"mechanism": mechanism, "clip": 1.0, "noise_multiplier": 2.0}


def mesh(*, masked: bool = False, data: dict[str, Any] = OWN, **averaging: Any) -> TaskFile:
    said = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del said["security"]
    said["data"] = data
    said["coordination"]["averaging"] = averaging
    if masked:
        said["security"] = {"aggregation": ["masked"]}
        said["coordination"] |= {"min_available_clients": 3, "quorum": 3, "fraction_evaluate": 0.0}
    return parse_task(said, "here")


def checked_mesh() -> TaskFile:
    said = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del said["security"]
    said["data"], said["training"] = PUBLIC, {"steps": 10}
    said["coordination"]["byzantine"] = {}
    return parse_task(said, "here")


def units(**trust: Any) -> TaskFile:
    return parse_task(tomllib.loads(volunteer_toml("tiny", trust=trust)), "here")


# The settings that the table names, each with task files that have it.
SETTINGS = {
    "open rounds": [rounds(["open"]), rounds(["open"], PUBLIC)],
    "robust rounds": [
        rounds(["open"], security={"robust": {"rule": "krum", "attackers": 1}, "reputation": {}}),
    ],
    "kept updates": [
        rounds(["open"], security={"kept_updates": {"rounds": 1}}),
        rounds(["open"], security={"kept_updates": {"rounds": 3}}),
    ],
    "masked rounds": [rounds(["masked"]), rounds(["masked", "open"])],
    'masked rounds, `server = "active"`': [
        rounds(["masked"], security={"masking": {"min_clients": 5, "server": "active"}})
    ],
    "masked groups": [
        rounds(
            ["masked"],
            coordination={"min_available_clients": 15, "quorum": 15},
            security={"robust": {"rule": "median", "attackers": 1, "groups": 3}},
        )
    ],
    'noise, `"local"`': [rounds(["open"], privacy=noise("local"))],
    'noise, `"central"`': [rounds(["open"], privacy=noise("central"))],
    'noise, `"distributed"`': [rounds(["masked"], privacy=noise("distributed"))],
    'noise, `"examples"`': [rounds(["open"], privacy=noise("examples"))],
    "work units": [units(), units(**PEER), units(replicas=1, spot_checks=0.0)],
    "mesh": [
        mesh(),
        mesh(masked=True),
        mesh(data=PUBLIC),
        mesh(exchange="full", group_size=4),
        mesh(exchange="ring"),
        checked_mesh(),
    ],
}


def table() -> list[tuple[str, str]]:
    """Returns each pair of a setting and the beginning of a sentence in the section on the pages."""
    section = THREATS.read_text("utf-8").partition("## What the pages say")[2]
    pairs = []
    for line in section.splitlines():
        if "“" in line:
            settings, sentences = line.strip("| ").split(" | ")
            begun = re.findall("“([^”]+)”", sentences)
            pairs += [(setting.strip(), one) for setting in settings.split(";") for one in begun]
    return pairs


def told(setting: str) -> set[str]:
    """Returns the sentences that the pages show with a setting."""
    said = [scheme_of(file).disclose(file, None) for file in SETTINGS[setting]]
    return {one for each in said for one in (*each.server, *each.participants, *each.readers)}


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_sentence_of_the_pages_is_in_the_table(setting: str) -> None:
    begun = tuple(one for where, one in table() if where == setting)
    assert [sentence for sentence in told(setting) if not sentence.startswith(begun)] == []


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_pages_say_what_the_table_says_they_do(setting: str) -> None:
    begun = [one for where, one in table() if where == setting]
    assert begun
    assert [one for one in begun if not any(each.startswith(one) for each in told(setting))] == []


def test_the_table_names_no_other_settings() -> None:
    assert {setting for setting, _ in table()} == set(SETTINGS)
