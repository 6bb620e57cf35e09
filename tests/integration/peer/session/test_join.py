"""The peer's process against a real server with the digits task."""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from backend.wire.codec import encode
from backend.wire.messages import Leave
from tests.support.peer.peer_process import joined
from tests.support.timeouts import PATIENCE
from tests.support.web.raw_client import Raw
from tests.support.web.server_process import Server, free_port, running

pytestmark = pytest.mark.tensorflow

ALONE = ("--set", "digits.coordination.min_available_clients=1", "--set", "digits.coordination.gather=0")


@pytest.fixture
def server(digits: Path, tmp_path: Path) -> Iterator[Server]:
    with running(digits, tmp_path / "data", *ALONE, "--set", "digits.coordination.rounds=1000") as server:
        yield server


def test_updates_of_a_peer_are_accepted_until_the_task_is_finished(digits: Path, tmp_path: Path) -> None:
    with (
        running(digits, tmp_path / "data", *ALONE, "--set", "digits.coordination.rounds=3") as server,
        joined(tmp_path / "home", f"{server.url}/tasks/digits/train") as peer,
    ):
        peer.expect("finished")
        assert peer.end() == (0, "")
        assert [news["round"] for news in peer.seen if news["event"] == "accepted"] == [1, 2, 3]
        (row,) = server.get("/api/tasks/digits/contributions")["contributions"]
        assert (row["kind"], row["backend"], row["accepted"]) == ("peer", "tensorflow-cpu", 3)
        assert row["examples"] == 3 * 800


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(server: Server, tmp_path: Path, number: signal.Signals) -> None:
    with joined(tmp_path / "home", server.url) as peer:
        peer.expect("accepted")
        assert peer.stop(number) == 0
    deadline = time.monotonic() + PATIENCE
    while server.get("/api/tasks/digits")["participants"]:
        assert time.monotonic() < deadline, "the server still counts it"
        time.sleep(0.05)


def compute(pid: int, seconds: float) -> None:
    """Waits until a process has used so many seconds of processors, however busy they are."""
    process = psutil.Process(pid)
    until = sum(process.cpu_times()) + seconds
    while sum(process.cpu_times()) < until:
        time.sleep(0.05)


def test_the_partial_update_of_a_stopped_peer_counts(digits: Path, tmp_path: Path) -> None:
    endless = ("--set", "digits.training.epochs=1000", "--set", "digits.coordination.deadline=600")
    with (
        running(digits, tmp_path / "data", *ALONE, *endless) as server,
        joined(tmp_path / "home", server.url) as peer,
    ):
        peer.expect("training")
        compute(peer.process.pid, 2.0)
        assert peer.stop() == 0
        accepted = peer.expect("accepted")
        assert 0 < accepted["examples"] < 1000 * 400


def test_it_stops_at_once_while_the_server_is_away(tmp_path: Path) -> None:
    with joined(tmp_path / "home", "http://127.0.0.1:9", "--task", "digits") as peer:
        news = peer.expect("offline")
        assert "Trying again" in news["message"]
        assert peer.stop() == 0


def test_a_peer_that_was_there_before_its_server_joins_it_when_it_comes(digits: Path, tmp_path: Path) -> None:
    port = str(free_port())
    with joined(tmp_path / "home", f"http://127.0.0.1:{port}", "--task", "digits") as peer:
        peer.expect("offline")
        with running(digits, tmp_path / "data", *ALONE, "--port", port):
            peer.expect("connected")
            assert peer.stop() == 0


def test_after_the_server_was_killed_and_started_again_it_goes_on(
    server: Server, digits: Path, tmp_path: Path
) -> None:
    with joined(tmp_path / "home", server.url, "--task", "digits") as peer:
        before = peer.expect("version")["version"]
        server.stop(signal.SIGKILL)
        peer.expect("offline")
        port = server.url.rpartition(":")[2]
        again = (*ALONE, "--set", "digits.coordination.rounds=1000", "--port", port)
        with running(digits, tmp_path / "data", *again) as second:
            assert second.report["tasks"][0]["version"] >= before
            peer.expect("connected")
            peer.expect("accepted")
            assert peer.stop() == 0


def test_who_is_sent_away_says_why_and_comes_back(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_MAX_CLIENTS", "1")
    with running(digits, tmp_path / "data", *ALONE) as server, Raw(server.url, task="digits") as other:
        other.join("another-client-with-its-token")
        with joined(tmp_path / "home", server.url) as peer:
            news = peer.expect("offline")
            assert "the limit of this task" in news["message"]
            assert "Next attempt in" in news["message"]
            assert news["seconds"] >= 4
            other.send(encode(Leave()))
            peer.expect("connected")


def test_two_peers_of_one_machine_are_two_clients(server: Server, tmp_path: Path) -> None:
    with joined(tmp_path / "home", server.url) as first:
        one = first.expect("connected")["client"]
        with joined(tmp_path / "home", server.url) as second:
            other = second.expect("connected")["client"]
    with joined(tmp_path / "home", server.url) as later:
        assert later.expect("connected")["client"] == one != other


def test_a_peer_whose_token_is_used_elsewhere_gives_way_and_says_so(server: Server, tmp_path: Path) -> None:
    with joined(tmp_path / "home", server.url) as first:
        first.expect("connected")
        shutil.copytree(tmp_path / "home" / ".local", tmp_path / "copy" / ".local")
        with joined(tmp_path / "copy", server.url) as second:
            second.expect("connected")
            code, complaint = first.end()
            second.expect("accepted")
    assert code == 2
    assert complaint.startswith("minga: ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{url}", "--task", "nonsense"], "There is no task 'nonsense': {url} has the task digits."),
        (["{url}/static/nothing"], "{url}/static/nothing is no Minga server; check the address."),
        (["{url}", "--listen", "127.0.0.1:0"], "In this task the server averages, and no peer connects"),
        (["gopher://example.org"], "'gopher://example.org' is no address of a Minga server"),
    ],
)
def test_mistakes_are_told_in_a_sentence(
    server: Server, tmp_path: Path, words: list[str], sentence: str
) -> None:
    with joined(tmp_path / "home", *(word.format(url=server.url) for word in words)) as peer:
        code, complaint = peer.end()
    assert code == 2
    assert complaint.startswith("minga: " + sentence.format(url=server.url))
