"""Links between machines on a network of their own: what way is left is found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.mesh.link_speed import Peer
from tests.support.environment.network_namespaces import HUB, PASSWORD, TURN_PORT, USER, Network
from tests.support.tasks.tiny_task import write_mesh

pytestmark = pytest.mark.requires("networks")
SIZE = 1_000_000
TURN = ["--ice", f"turn:{HUB}:{TURN_PORT}", USER, PASSWORD]


@contextmanager
def linked(network: Network, folder: Path, *options: list[str]) -> Iterator[list[Peer]]:
    """A server on the hub, and a peer on the machine of each place, with these options."""
    write_mesh(folder / "tasks" / "tiny")
    serve = [sys.executable, "-m", "backend", "serve", "--host", HUB, "--port", "8000"]
    serve += ["--data-dir", str(folder / "data"), "--tasks", str(folder / "tasks")]
    network.start(None, serve, stdout=subprocess.DEVNULL)
    network.wait_for(8000)
    peers = []
    try:
        for place, more in enumerate(options):
            command = [sys.executable, "-m", "benchmarks.mesh.link_peer", f"http://{HUB}:8000", "tiny", *more]
            peers.append(Peer(network.command(place, command)))
        yield peers
    finally:
        for peer in peers:
            peer.end()


def sends(sender: Peer, receiver: Peer) -> dict[str, Any]:
    """A vector from one to the other."""
    sender.say(f"send {SIZE}")
    told = receiver.hear("received")
    assert told["whole"]
    return told


def test_two_that_reach_each_other_need_no_server_between_them(tmp_path: Path) -> None:
    with Network(2, mbit=20) as network:
        listening = ["--listen", f"{network.address(0)}:7000"]
        with linked(network, tmp_path, listening, []) as (one, other):
            assert one.hear("up")["way"] == other.hear("up")["way"] == "websocket"
            sends(other, one)


def test_two_that_only_a_turn_server_reaches_link_through_it(tmp_path: Path) -> None:
    with Network(2) as network:
        network.part(0, 1)
        network.start_turn()
        ways = ["--ways", "webrtc"]
        with linked(network, tmp_path, [*ways, *TURN], [*ways, *TURN]) as (one, other):
            assert one.hear("up")["way"] == other.hear("up")["way"] == "webrtc"
            sends(one, other)
            sends(other, one)


def test_peers_can_be_told_to_use_nothing_but_turn(tmp_path: Path) -> None:
    with Network(2) as network:
        network.start_turn()
        options = ["--ways", "webrtc", "--relay-only", *TURN]
        with linked(network, tmp_path, options, options) as (one, other):
            assert one.hear("up")["way"] == other.hear("up")["way"] == "webrtc"
            sends(one, other)


def test_two_that_nothing_reaches_link_through_the_server(tmp_path: Path) -> None:
    with Network(2) as network:
        network.part(0, 1)
        listening = ["--listen", f"{network.address(0)}:7000"]
        with linked(network, tmp_path, listening, []) as (one, other):
            assert one.hear("up")["way"] == other.hear("up")["way"] == "relay"
            sends(one, other)
            sends(other, one)


def test_a_link_that_is_cut_goes_another_way_and_comes_back(tmp_path: Path) -> None:
    with Network(2) as network:
        soon = ["--dead-after", "5"]
        listening = ["--listen", f"{network.address(0)}:7000", *soon]
        with linked(network, tmp_path, listening, soon) as (one, other):
            assert one.hear("up")["way"] == other.hear("up")["way"] == "websocket"
            network.part(0, 1)
            assert one.hear("down")
            assert other.hear("down")
            assert one.hear("up")["way"] == other.hear("up")["way"] == "relay"
            sends(one, other)
            network.join(0, 1)
            assert one.hear("up")["way"] != "relay"
            assert other.hear("up")["way"] != "relay"
            sends(other, one)
