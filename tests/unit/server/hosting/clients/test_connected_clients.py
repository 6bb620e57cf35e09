"""What the host says to everybody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backend.errors import MingaError
from backend.protocols.rounds.federated import Round
from backend.server.hosting.clients.client_link import ConnectedClient
from backend.server.hosting.clients.connected_clients import (
    MAX_DEPARTED,
    MAX_LISTED,
    SOME,
    STATE_BYTES_PER_SECOND,
    STATE_SECONDS,
    ConnectedClients,
)
from backend.wire.client_id import client_id
from backend.wire.codec import decode_server
from backend.wire.messages import Evaluated, State
from tests.support.protocols.rounds import PLAN


class Recorder:
    """A link that keeps what it was given."""

    address = identity = ""
    is_unnamed_proxy = False
    volunteer = ""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def close(self, error: MingaError) -> None:
        raise AssertionError(error)


def audience_of(count: int) -> tuple[ConnectedClients, list[Recorder]]:
    connected, links = ConnectedClients(), [Recorder() for _ in range(count)]
    for number, link in enumerate(links):
        connected.add(ConnectedClient(f"{number:016x}", "browser", "wasm", link))
    return connected, links


def test_a_broadcast_is_encoded_once() -> None:
    connected, links = audience_of(3)
    connected.tell_all(Evaluated(version=1, source="server", loss=0.5, metrics={}))
    assert links[0].frames[0] is links[1].frames[0] is links[2].frames[0]


def test_the_traffic_of_clients_that_left_stays_known() -> None:
    connected, _ = audience_of(2)
    first, second = connected.clients
    connected.tell_all(Evaluated(version=1, source="server", loss=0.5, metrics={}))
    connected.clients[first].received += 7
    size = connected.sent // 2
    connected.remove(first)
    assert (connected.traffic(first), connected.traffic(second)) == ((size, 7), (size, 0))
    connected.add(ConnectedClient(first, "browser", "wasm", Recorder()))
    connected.tell_all(Evaluated(version=1, source="server", loss=0.5, metrics={}))
    assert connected.traffic(first) == (2 * size, 7)


def test_the_traffic_of_the_latest_that_left_is_kept_within_a_limit() -> None:
    connected, _ = audience_of(MAX_DEPARTED + 1)
    connected.tell_all(Evaluated(version=1, source="server", loss=0.5, metrics={}))
    clients = list(connected.clients)
    for client in clients:
        connected.remove(client)
    assert connected.traffic(clients[0]) == (0, 0)
    assert connected.traffic(clients[1])[0] > 0


def changing(count: int = 2000) -> Iterator[tuple[float, Round]]:
    """A machine in which something happens every millisecond."""
    machine = Round(PLAN)
    for step in range(count):
        machine.round = step
        yield step / 1000, machine


def test_states_are_told_at_most_four_times_a_second() -> None:
    connected, links = audience_of(1)
    for now, machine in changing(1000):
        connected.state_changed(now)
        connected.tell_state(machine, {}, now)
    assert len(links[0].frames) == 4
    assert connected.timer() == 4 * STATE_SECONDS


def test_states_to_a_crowd_cost_no_more_bytes_than_they_may() -> None:
    connected, links = audience_of(2000)
    for now, machine in changing():
        connected.state_changed(now)
        connected.tell_state(machine, {}, now)
    told = sum(len(frame) for link in links for frame in link.frames)
    once = len(links) * len(links[0].frames[0])
    assert once < told <= 2 * STATE_BYTES_PER_SECOND + once


def test_the_last_change_is_told_though_nothing_follows() -> None:
    connected, links = audience_of(1)
    machine = Round(PLAN)
    for now in (0.0, 0.1):
        machine.round += 1
        connected.state_changed(now)
        connected.tell_state(machine, {}, now)
    assert connected.timer() == STATE_SECONDS
    connected.tell_state(machine, {}, STATE_SECONDS)
    assert (len(links[0].frames), connected.timer()) == (2, None)


def test_nothing_is_told_when_only_time_has_passed() -> None:
    connected, links = audience_of(1)
    machine = Round(PLAN)
    for now in (0.0, 1.0, 2.0):
        connected.state_changed(now)
        connected.tell_state(machine, {}, now)
    assert (len(links[0].frames), connected.timer()) == (1, None)


def test_newcomers_are_told_at_once_and_nobody_is_told_of_each() -> None:
    connected, links = audience_of(1000)
    machine = Round(PLAN)
    for number, client in enumerate(connected.clients):
        now = number / 1000
        connected.welcome(client, now)
        connected.tell_state(machine, {}, now)
    connected.tell_state(machine, {}, 1.0)
    assert [len(link.frames) for link in links] == [1] * len(links)
    assert connected.timer() is None


def test_a_newcomer_that_left_again_is_told_nothing() -> None:
    connected, links = audience_of(2)
    gone, here = connected.clients
    connected.welcome(gone, 0.0)
    connected.welcome(here, 0.0)
    del connected.clients[gone]
    connected.tell_state(Round(PLAN), {}, 0.0)
    assert [len(link.frames) for link in links] == [0, 1]


@pytest.mark.parametrize(("count", "listed"), [(MAX_LISTED, MAX_LISTED), (MAX_LISTED + 1, SOME)])
def test_of_a_crowd_some_are_listed(count: int, listed: int) -> None:
    connected, links = audience_of(count)
    connected.state_changed(0.0)
    connected.tell_state(Round(PLAN), {f"{1:016x}": 7}, 0.0)
    state = decode_server(links[0].frames[0])
    assert isinstance(state, State)
    assert len(state.participants) == listed
    assert (state.participants[1].accepted, state.participants[0].accepted) == (7, 0)


def test_who_left_is_forgotten_when_asked() -> None:
    connected, _ = audience_of(3)
    for number in (0, 2):
        del connected.clients[f"{number:016x}"]
    connected.tell(f"{0:016x}", Evaluated(version=1, source="server", loss=0.5, metrics={}))
    assert len(connected.devices) == 3
    connected.forget_absent(keep=[f"{2:016x}"])
    assert list(connected.devices) == [f"{1:016x}", f"{2:016x}"]


def test_a_public_id_tells_nothing_of_its_token() -> None:
    assert client_id("a" * 22) == client_id("a" * 22) != client_id("a" * 23)
    assert len(client_id("a" * 22)) == 16
