"""Peers reveal shares for a version once, and an honest server moves on where that ends a round."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from backend.errors import PeerError
from backend.peer.rounds.spent_versions import DAY, MOST_RUNS, RUNS_A_DAY, SpentVersions
from tests.support.masking.known_update_peers import address_of, known_update
from tests.support.masking.masked_task import (
    CLIENTS,
    PARAMETERS,
    dying,
    ended,
    serving,
    tokens,
    train,
)
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server

TASK = "wss://example.org/api/tasks/digits/socket"
RUN, OTHER = "a" * 64, "b" * 64
CONTEXT = "c" * 64
# Of five members four recover a secret.
MEMBERS = 5
SOON = {"coordination.grace": "0.5"}


class Clock:
    """The time of day."""

    def __init__(self) -> None:
        self.now = 1_000 * DAY

    def __call__(self) -> float:
        return self.now


def spent_versions(folder: Path | None, task: str = TASK, clock: Clock | None = None) -> SpentVersions:
    made = SpentVersions(folder, clock or Clock())
    made.enter(task)
    return made


def test_what_was_revealed_is_known_after_a_restart_and_never_goes_down(tmp_path: Path) -> None:
    assert spent_versions(tmp_path).first_unspent(RUN) == 0
    spent_versions(tmp_path).spend(RUN, 4, CONTEXT)
    with pytest.raises(PeerError, match="version 4 meanwhile"):
        spent_versions(tmp_path).spend(RUN, 2, CONTEXT)
    later = spent_versions(tmp_path)
    assert later.first_unspent(RUN) == 5
    assert spent_versions(tmp_path, TASK.replace("digits", "letters")).first_unspent(RUN) == 0
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in tmp_path.iterdir())


def test_without_a_folder_it_is_known_as_long_as_the_process_lives() -> None:
    one = spent_versions(None)
    one.spend(RUN, 4, CONTEXT)
    assert (one.first_unspent(RUN), one.first_unspent(OTHER)) == (5, 0)


def test_a_task_that_begins_anew_is_joined_again_so_many_times_a_day(tmp_path: Path) -> None:
    """A lying server could rename its run to have a version summed once more."""
    clock = Clock()
    one = spent_versions(tmp_path, clock=clock)
    for number in range(RUNS_A_DAY):
        assert one.first_unspent(f"{number:064}") == 0
        one.spend(f"{number:064}", 9, CONTEXT)
    with pytest.raises(PeerError, match=f"from the beginning more than {RUNS_A_DAY} times within a day"):
        one.first_unspent(RUN)
    with pytest.raises(PeerError, match="from the beginning"):
        one.spend(RUN, 9, CONTEXT)
    assert one.first_unspent(f"{0:064}") == 10
    clock.now += DAY
    assert one.first_unspent(RUN) == 0


def test_runs_of_earlier_days_count_when_they_have_another_reveal(tmp_path: Path) -> None:
    clock = Clock()
    one = spent_versions(tmp_path, clock=clock)
    for number in range(2 * RUNS_A_DAY):
        one.spend(f"{number:064}", 9, CONTEXT)
        clock.now += DAY / 2
    clock.now += DAY
    for number in range(RUNS_A_DAY):
        one.spend(f"{number:064}", 10, CONTEXT)
    for refused in (one.first_unspent, lambda run: one.spend(run, 10, CONTEXT)):
        with pytest.raises(PeerError, match="from the beginning"):
            refused(f"{RUNS_A_DAY:064}")


def test_no_version_makes_the_file_unreadable(tmp_path: Path) -> None:
    one = spent_versions(tmp_path)
    with pytest.raises(PeerError, match="is impossibly high"):
        one.spend(RUN, 2**53 - 1, CONTEXT)
    one.spend(RUN, 2**53 - 2, CONTEXT)
    assert spent_versions(tmp_path).first_unspent(RUN) == 2**53 - 1


def test_a_file_without_contexts_is_read(tmp_path: Path) -> None:
    one = spent_versions(tmp_path)
    one.spend(OTHER, 0, CONTEXT)
    (file,) = tmp_path.glob("*.json")
    file.write_text(f'{{"{RUN}": {{"spent": 5, "seconds": 1.0}}}}')
    assert one.first_unspent(RUN) == 5
    with pytest.raises(PeerError, match="version 4 meanwhile"):
        one.spend(RUN, 4, CONTEXT)


def test_peers_of_a_folder_reveal_for_a_version_in_one_round_alone(tmp_path: Path) -> None:
    one, other = spent_versions(tmp_path), spent_versions(tmp_path)
    one.spend(RUN, 4, CONTEXT)
    other.spend(RUN, 4, CONTEXT)
    for version in (3, 4):
        with pytest.raises(PeerError, match="Another peer of this machine revealed"):
            other.spend(RUN, version, "d" * 64)
    other.spend(RUN, 5, "d" * 64)


def test_only_the_newest_runs_are_remembered() -> None:
    clock = Clock()
    one = spent_versions(None, clock=clock)
    for number in range(MOST_RUNS + 3):
        clock.now += DAY
        one.spend(f"{number:064}", 0, CONTEXT)
    assert (one.first_unspent(f"{2:064}"), one.first_unspent(f"{3:064}")) == (0, 1)


@pytest.mark.parametrize("content", [b"", b"[]", b"{broken", b'{"a": {"spent": -1}}', b"\xff\xff"])
def test_with_a_damaged_file_nothing_is_masked(tmp_path: Path, content: bytes) -> None:
    one = spent_versions(tmp_path)
    one.spend(RUN, 4, CONTEXT)
    (file,) = tmp_path.glob("*.json")
    file.write_bytes(content)
    with pytest.raises(PeerError, match="without it no update is masked"):
        one.first_unspent(RUN)


def test_with_a_folder_that_cannot_be_written_nothing_is_masked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    one = spent_versions(tmp_path / "file")
    with pytest.raises(PeerError, match="make the folder writable"):
        one.first_unspent(RUN)
    with pytest.raises(PeerError, match="make the folder writable"):
        one.spend(RUN, 4, CONTEXT)


def test_two_peers_of_a_machine_lose_nothing(tmp_path: Path) -> None:
    one, other = spent_versions(tmp_path), spent_versions(tmp_path)
    one.first_unspent(RUN)
    other.spend(OTHER, 3, CONTEXT)
    one.spend(RUN, 4, CONTEXT)
    assert (other.first_unspent(RUN), one.first_unspent(OTHER)) == (5, 4)
    assert os.path.lexists(next(tmp_path.glob("*.lock")))


async def test_after_a_round_that_failed_while_it_was_unmasked_all_take_part_again(tmp_path: Path) -> None:
    one, other, *others = tokens(MEMBERS)
    late = tokens(2)
    with serving(tmp_path, MEMBERS, settings=SOON) as server:
        traits = {name: {"spent": tmp_path / name} for name in others}
        with dying(server.url, one, "before:reveal"), dying(server.url, other, "before:reveal"):
            trains = asyncio.create_task(train(server.url, traits))
            told = await asyncio.to_thread(ended, server)
        assert told["outcome"] == "abandoned"
        await asyncio.gather(trains, train(server.url, {name: {} for name in late}))
        rounds = server.get("/api/tasks/tiny/rounds")["rounds"]
        versions = server.get("/api/tasks/tiny/versions")["versions"]
    check_moved_on(rounds, versions)
    assert (rounds[2]["accepted"], rounds[2]["refused"]) == (MEMBERS, 0)


async def test_clients_that_revealed_to_a_server_that_was_killed_are_given_a_new_version(
    tmp_path: Path,
) -> None:
    names = tokens()
    with serving(tmp_path) as first:
        async with Client(first.url, aggregation=["masked"]) as stranger:
            run = stranger.welcome.run
    with serving(tmp_path) as server:
        for name in names:
            spent_versions(tmp_path / name, address_of(server.url)).spend(run, 0, CONTEXT)
        await train(server.url, {name: {"spent": tmp_path / name} for name in names})
        rounds = server.get("/api/tasks/tiny/rounds")["rounds"]
        versions = server.get("/api/tasks/tiny/versions")["versions"]
        weights = np.frombuffer(blob(server, versions[2]["weights"]), "<f4")
    check_moved_on(rounds, versions)
    assert f"{CLIENTS} of {CLIENTS} clients said that they had revealed shares" in rounds[1]["reason"]
    assert rounds[0]["refusals"] == {"not-masked": CLIENTS}
    mean = np.mean([known_update(name, 3, PARAMETERS, 1.0) for name in names], axis=0)
    assert np.abs(weights - mean).max() < 1e-5


def blob(server: Server, address: str) -> bytes:
    with urlopen(f"{server.url}/blobs/{address}") as answer:
        content: bytes = answer.read()
    return content


def check_moved_on(rounds: list[dict[str, Any]], versions: list[dict[str, Any]]) -> None:
    """An abandoned round, a version that equals the one before, and a round that made another one."""
    assert [one["outcome"] for one in rounds] == ["abandoned", "version", "version"]
    assert rounds[1]["reason"].startswith("Version 1 equals version 0: round 1 failed")
    assert (rounds[1]["cohort"], rounds[1]["accepted"]) == (0, 0)
    weights = [one["weights"] for one in versions]
    assert weights[0] == weights[1] != weights[2]
