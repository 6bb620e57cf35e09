"""TensorFlow peers in processes of their own train the digits, and no server averages."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from backend.protocols.mesh.serverless.last_round import FIRST_SERVERLESS_GROUP
from tests.support.peer.digits_mesh import write_digits
from tests.support.peer.peer_process import Peer, joined
from tests.support.timeouts import LONG, PATIENCE
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.tensorflow

ENDLESS = 100_000
# Seconds. Groups are over in milliseconds: one that takes so long waits for somebody.
HELD_UP = 5.0
Report = dict[str, Any]


class Company:
    """A server of the task `digits`, which may be started again, and its peers."""

    def __init__(self, stack: ExitStack, folder: Path, built: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._built = built
        self._count = 0
        self.server: Server

    def serve(self, **coordination: Any) -> None:
        """Starts the server."""
        write_digits(self._built, self._folder / "tasks" / "digits", **coordination)
        self.server = self._stack.enter_context(running(self._folder / "tasks", self._folder / "data"))
        assert [task["name"] for task in self.server.report["tasks"]] == ["digits"]

    def serve_again(self) -> None:
        """Starts it where it was, with the records that it had."""
        port = self.server.url.rpartition(":")[2]
        folders = (self._folder / "tasks", self._folder / "data")
        self.server = self._stack.enter_context(running(*folders, "--port", port))

    def join(self) -> Peer:
        """One more peer."""
        self._count += 1
        words = (self.server.url, "--listen", "127.0.0.1:0", "--transport", "websocket")
        return self._stack.enter_context(joined(self.home(self._count), *words))

    def home(self, number: int) -> Path:
        """Where the peer of that number, from 1 on, keeps its state."""
        return self._folder / f"home {number}"


@pytest.fixture
def company(digits: Path, tmp_path: Path) -> Iterator[Company]:
    with ExitStack() as stack:
        yield Company(stack, tmp_path, digits)


def averaged(peer: Peer, seconds: float = PATIENCE, **wanted: int) -> Report:
    """The next result of a group that is as wanted."""
    while True:
        report = peer.expect("averaged", seconds)
        if all(report[key] == value for key, value in wanted.items()):
            return report


def catch_up(peers: Sequence[Peer], number: int) -> None:
    """Waits until each has a result of round `number` or a later one."""
    for peer in peers:
        while not any(one["event"] == "averaged" and one["round"] >= number for one in peer.seen):
            peer.expect("averaged")


def results(peers: Sequence[Peer]) -> dict[int, list[tuple[str, float]]]:
    """Weights and fraction that each peer reported, by round."""
    found: dict[int, list[tuple[str, float]]] = {}
    for peer in peers:
        for one in peer.seen:
            if one["event"] == "averaged":
                found.setdefault(one["round"], []).append((one["weights"], one["fraction"]))
    return found


def equal_in_all(peers: Sequence[Peer]) -> bool:
    """Whether all who had a result of a round had the same bits, and told the same fraction."""
    return all(len(set(told)) == 1 for told in results(peers).values())


def test_three_peers_learn_the_digits_with_the_same_bits_after_every_round(company: Company) -> None:
    # Nobody is gone on without, however busy the machine is.
    company.serve(rounds=8, averaging={"patience": 60.0})
    peers = [company.join() for _ in range(3)]
    for peer in peers:
        peer.expect("finished", LONG)
        assert peer.end() == (0, "")
    told = results(peers)
    assert sorted(told) == list(range(1, 9))
    assert [len(one) for one in told.values()] == [3] * 8
    assert equal_in_all(peers)
    assert len({weights for (weights, _), *_ in told.values()}) == 8
    assert {fraction for one in told.values() for _, fraction in one} == {1.0}
    company.server.measured_versions("digits")
    task = company.server.get("/api/tasks/digits")
    assert (task["version"], task["weights"]) == (8, told[8][0][0])
    assert task["accuracy"] >= 0.95


def test_four_peers_that_mask_learn_the_digits_and_three_go_on_when_one_is_killed(company: Company) -> None:
    company.serve(rounds=12, masked=True)
    *peers, fourth = (company.join() for _ in range(4))
    averaged(peers[0], LONG, survivors=4)
    fourth.expect("averaging", LONG)
    fourth.process.kill()
    for peer in peers:
        peer.expect("finished", LONG)
        assert peer.end() == (0, "")
    assert equal_in_all([*peers, fourth])
    assert max(results(peers)) == 12
    assert len({weights for (weights, _), *_ in results(peers).values()}) == 12
    company.server.measured_versions("digits")
    task = company.server.get("/api/tasks/digits")
    assert task["weights"] == results(peers)[12][0][0]
    assert task["accuracy"] >= 0.95


def test_after_one_is_killed_the_others_go_on_and_a_newcomer_is_in_the_next_round(company: Company) -> None:
    company.serve(rounds=ENDLESS, min_available_clients=2, averaging={"exchange": "butterfly"})
    first, second, third = (company.join() for _ in range(3))
    averaged(first, LONG, survivors=3)
    third.expect("averaging", LONG)
    third.process.kill()
    averaged(first, survivors=2)
    newcomer = company.join()
    report = averaged(newcomer, LONG, survivors=3)
    catch_up([first, second], report["round"])
    assert equal_in_all([first, second, newcomer])
    for peer in (first, second, newcomer):
        assert peer.stop() == 0
    kept = list((company.home(1) / ".local/state/minga/mesh").iterdir())
    assert len(kept) == 1


def test_a_group_ends_without_its_server_which_goes_on_from_there_when_it_is_back(company: Company) -> None:
    # Who is stopped is waited for long enough to be told from a group that a busy machine holds up.
    averaging = {"exchange": "butterfly", "patience": 3 * HELD_UP}
    company.serve(rounds=ENDLESS, min_available_clients=2, averaging=averaging)
    first, _, third = peers = [company.join() for _ in range(3)]
    averaged(first, LONG, survivors=3)
    number = hold_up_a_group(first, third)
    company.server.stop(signal.SIGKILL)
    report = averaged(first)
    assert (report["round"], report["members"], report["survivors"]) == (number, 3, 2)
    third.process.send_signal(signal.SIGCONT)
    company.serve_again()
    catch_up(peers, number + 2)
    assert equal_in_all(peers)
    assert company.server.get("/api/tasks/digits")["version"] >= 1


def hold_up_a_group(one: Peer, stopped: Peer) -> int:
    """Stops the process `stopped` within a group that it is in with `one`, so that this has to wait for it.

    It is tried again until it comes in time. The number of the round.
    """
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        number: int = one.expect("averaging")["round"]
        stopped.process.send_signal(signal.SIGSTOP)
        try:
            averaged(one, HELD_UP, round=number)
        except queue.Empty:
            return number
        stopped.process.send_signal(signal.SIGCONT)
    raise AssertionError("No group could be held up.")


@pytest.mark.long
def test_the_peers_go_on_without_their_server_which_takes_up_what_they_made(company: Company) -> None:
    # Nobody is gone on without, however busy the machine is.
    patient = {"patience": 15.0}
    company.serve(rounds=ENDLESS, min_available_clients=3, fraction_evaluate=1.0, averaging=patient)
    peers = [company.join() for _ in range(3)]
    for peer in peers:
        averaged(peer, LONG, survivors=3)
        peer.expect("measured", PATIENCE)
    company.server.stop(signal.SIGKILL)
    last = max(peer.expect("onward", PATIENCE)["round"] for peer in peers) + 1
    catch_up(peers, last)
    for peer in peers:
        assert 0.5 < evaluation_by_peers(peer)["metrics"]["accuracy"] <= 1
    company.serve_again()
    catch_up(peers, next_round_with_the_server(peers[0]))
    assert equal_in_all(peers)
    told = results(peers)
    rounds = company.server.get("/api/tasks/digits/rounds?last=200")["rounds"]
    numbers = [one["round"] for one in rounds]
    assert len(numbers) == len(set(numbers))
    [taken] = [one for one in rounds if one["outcome"] == "version" and one["accepted"] == 0]
    assert taken["round"] >= last
    [version] = [
        one
        for one in company.server.get("/api/tasks/digits/versions")["versions"]
        if one["round"] == taken["round"]
    ]
    assert version["weights"] == told[taken["round"]][0][0]


def evaluation_by_peers(peer: Peer) -> Report:
    """What a peer measured without the server, as this one tells it."""
    while True:
        report = peer.expect("evaluated", PATIENCE)
        if report["source"] == "peer":
            return report


def next_round_with_the_server(peer: Peer) -> int:
    """The first round that `peer` averages in a group of the restarted server."""
    while True:
        report = peer.expect("averaged", PATIENCE)
        if 2048 <= report["group"] < FIRST_SERVERLESS_GROUP:
            return int(report["round"])
