"""One peer's process on two tasks of a real server: rounds and work units."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.integration.peer.units.digits_units import write_digits
from tests.support.peer.peer_process import joined
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.tensorflow

ALONE = ("--set", "digits.coordination.min_available_clients=1", "--set", "digits.coordination.gather=0")


@contextmanager
def serving(digits: Path, folder: Path, *flags: str, epochs: int = 1000) -> Iterator[Server]:
    """A server with the tasks `digits`, of rounds, and `units`, of work units."""
    folder.mkdir()
    (folder / "digits").mkdir()
    for name in ("task.toml", "built"):
        (folder / "digits" / name).symlink_to(digits / name)
    units = write_digits(digits, folder / "units", f"epochs = {epochs}") / "task.toml"
    units.write_text(units.read_text("utf-8").replace('name = "digits"', 'name = "units"', 1), "utf-8")
    with running(folder, folder.parent / "data", *ALONE, *flags) as server:
        yield server


def given_back(server: Server) -> set[str]:
    """The causes for which units were given back."""
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        text = answer.read().decode()
    return set(re.findall(r'minga_units_released_total\{cause="(\w+)",task="units"\}', text))


@pytest.mark.long
def test_a_peer_divides_its_time_by_shares_and_loses_no_unit(digits: Path, tmp_path: Path) -> None:
    with serving(digits, tmp_path / "tasks", "--set", "digits.coordination.rounds=100000") as server:
        with joined(tmp_path / "home", server.url, "--share", "units=3", "--turn", "1") as peer:
            turns = [peer.expect("worked") for _ in range(4)]
            assert peer.stop() == 0
            peer.end()
        # Only the signal at the end has it give units back.
        assert given_back(server) <= {"stopping"}
        rows = {
            task: server.get(f"/api/tasks/{task}/contributions")["contributions"]
            for task in ("digits", "units")
        }
    seconds: Counter[str] = Counter()
    for news in turns:
        seconds[news["task"]] += news["seconds"]
    assert 1.8 < seconds["units"] / seconds["digits"] < 4.5
    # One client in each task, of the same device, however often it came and went.
    assert [len(of) for of in rows.values()] == [1, 1]
    assert all(row["accepted"] > 0 and row["refused"] == 0 for (row,) in rows.values())
    events = Counter(news["event"] for news in peer.seen)
    assert not events["dropped"]
    assert not events["rejected"]


def test_when_a_task_is_finished_the_peer_goes_on_with_the_other(digits: Path, tmp_path: Path) -> None:
    with (
        serving(digits, tmp_path / "tasks", "--set", "digits.coordination.rounds=3") as server,
        joined(tmp_path / "home", server.url, "--share", "digits=5", "--turn", "2") as peer,
    ):
        peer.expect("finished")
        assert server.get("/api/tasks/digits")["needs_clients"] is False
        peer.expect("joining")
        for _ in range(3):
            peer.expect("counted")
        assert peer.stop() == 0
    joins = [news["task"] for news in peer.seen if news["event"] == "joining"]
    assert joins[-1] == "units"


def test_it_waits_while_no_task_needs_it_and_joins_the_next_that_does(digits: Path, tmp_path: Path) -> None:
    rounds = ("--set", "digits.coordination.rounds=1")
    with (
        serving(digits, tmp_path / "tasks", *rounds, epochs=1) as server,
        joined(tmp_path / "home", server.url, "--turn", "1") as peer,
    ):
        peer.expect("nothing")
        assert {news["event"] for news in peer.seen} >= {"finished"}
        began = time.monotonic()
        assert peer.stop() == 0
        assert time.monotonic() - began < PATIENCE / 2
        states = [server.get(f"/api/tasks/{task}")["phase"] for task in ("digits", "units")]
    assert states == ["finished", "finished"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--share", "nonsense=2"], "There is no task 'nonsense'"),
        (["--data", "/"], "--data is for one task"),
        (["--task", "units", "--share", "units=2"], "--any, --share and --turn are for several tasks"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    digits: Path, tmp_path: Path, words: list[str], sentence: str
) -> None:
    with serving(digits, tmp_path / "tasks") as server, joined(tmp_path / "home", server.url, *words) as peer:
        code, complaint = peer.end()
    assert code == 2
    assert complaint.startswith("minga: " + sentence)
