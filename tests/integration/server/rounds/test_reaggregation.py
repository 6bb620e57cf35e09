"""Another rule on the kept updates of a real server's rounds: beside what happened, or refused."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.attacks.kept_rounds import CLIENTS, is_kept, keeping_task, play_rounds, tried
from tests.support.tasks.tiny_task import keep_versions, write_task
from tests.support.timeouts import eventually
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

PATH = "/api/tasks/tiny/reaggregation"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    keeping_task(tmp_path / "tasks" / "tiny", rounds=3)
    write_task(tmp_path / "tasks" / "plain")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def play(server: Server, data: Path, rounds: int) -> None:
    await play_rounds(server, "tiny", rounds)
    await is_kept(data / "data", "tiny", rounds)


async def test_the_same_rule_makes_the_same_versions_and_another_leaves_the_liar_out(
    server: Server, tmp_path: Path
) -> None:
    owner = operator(server)
    await play(server, tmp_path, 4)
    same = await tried(owner, "tiny", {"rule": "mean"})
    assert (same["state"], same["rule"], same["attackers"]) == ("done", "mean", 0)
    assert [row["made"] for row in same["rounds"]] == [2, 3, 4]
    assert [row["version"] for row in same["rounds"]] == [1, 2, 3]
    assert max(row["relative"] for row in same["rounds"]) < 1e-6
    assert all(row["tried"]["left_out"] == [] for row in same["rounds"])
    assert not same["measured"]
    assert all(row["tried"]["evaluation"] is None for row in same["rounds"])

    other = await tried(owner, "tiny", {"rule": "multi-krum", "attackers": 1})
    (liar,) = {client for row in other["rounds"] for client in row["tried"]["left_out"]}
    assert all(row["tried"]["left_out"] == [liar] for row in other["rounds"])
    assert all(row["real"] == {"rule": "", "left_out": [], "evaluation": None} for row in other["rounds"])
    gaps = [row["distance"] for row in other["rounds"]]
    assert gaps == sorted(gaps)
    assert gaps[0] > 0.01
    # The task is where it was.
    assert server.get("/api/tasks/tiny")["version"] == 4


async def test_what_cannot_be_tried_is_refused_with_the_reason(server: Server, tmp_path: Path) -> None:
    owner = operator(server)
    report = owner.ask("GET", PATH)
    assert (report["state"], report["kept"]["rounds"]) == ("none", [])
    refused = owner.ask("POST", PATH, {"rule": "median"}, 409)
    assert "No updates are kept yet" in refused["error"]["message"]
    await play(server, tmp_path, 1)
    for body, words in (
        ({"rule": "best"}, "Invalid enum value 'best'"),
        ({"rule": "multi-krum", "attackers": 2}, f"Round 1 has {CLIENTS} kept updates, of which multi-krum"),
        ({"rule": "fools-gold", "attackers": 1}, "bears 0 false ones"),
        ({}, "rule"),
    ):
        answer: Any = owner.ask("POST", PATH, body, 400)
        assert words in answer["error"]["message"]
    assert owner.ask("GET", PATH)["state"] == "none"
    assert "No rule is being tried" in owner.ask("DELETE", PATH, None, 409)["error"]["message"]
    answer = owner.ask("GET", "/api/tasks/plain/reaggregation", None, 404)
    assert "no [security.kept_updates]" in answer["error"]["message"]


async def test_kept_rounds_survive_a_kill_and_the_try_does_not(server: Server, tmp_path: Path) -> None:
    owner = operator(server)
    await play(server, tmp_path, 3)
    owner.ask("POST", PATH, {"rule": "median"}, 202)
    server.stop(signal.SIGKILL)
    server.start()
    owner.host = urlsplit(server.url).netloc
    report = owner.ask("GET", PATH)
    assert (report["state"], report["rounds"]) == ("none", [])
    assert [one["round"] for one in report["kept"]["rounds"]] == [1, 2, 3]
    again = await tried(owner, "tiny", {"rule": "median"})
    assert (again["state"], len(again["rounds"])) == ("done", 3)
    assert not list((tmp_path / "data" / "scratch").glob("reaggregation-*"))


async def test_versions_that_kept_rounds_need_are_not_removed(tmp_path: Path) -> None:
    keep_versions(keeping_task(tmp_path / "tasks" / "tiny", rounds=2), 2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        owner = operator(server)
        await play(server, tmp_path, 5)
        assert (await tried(owner, "tiny", {"rule": "median"}))["state"] == "done"
        await asyncio.to_thread(eventually, lambda: stored(owner) == {0, 3, 4, 5}, "other versions are kept")


def stored(owner: Visitor) -> set[int]:
    """Returns the numbers of the versions that are not removed."""
    versions = owner.ask("GET", "/api/tasks/tiny/versions")["versions"]
    return {one["version"] for one in versions if one["let_go"] is None}


async def test_a_round_over_the_limit_is_not_kept_and_the_owner_reads_so(tmp_path: Path) -> None:
    folder = keeping_task(tmp_path / "tasks" / "tiny", rounds=2, more=60_000)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        owner = operator(server)
        await play_rounds(server, "tiny", 1, size=60_010)
        await asyncio.to_thread(
            eventually, lambda: bool(owner.ask("GET", PATH)["kept"]["problem"]), "nothing is told"
        )
        report = owner.ask("GET", PATH)
    assert folder.exists()
    assert report["kept"]["rounds"] == []
    assert (
        "round 1 were not kept: its 5 updates take 1.14 MiB or more, over the limit of 1 MiB"
        in (report["kept"]["problem"])
    )
    assert not list((tmp_path / "data" / "kept_updates" / "tiny").iterdir())
