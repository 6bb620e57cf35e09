"""What the host says to everybody."""

from __future__ import annotations

from backend.errors import MingaError
from backend.protocols.round import Round
from backend.services.audience import MAX_LISTED, STATE_SECONDS, Audience
from backend.services.links import Client, client_id
from backend.wire.codec import decode_server
from backend.wire.messages import Evaluated, State
from tests.protocols.test_round import PLAN


class Recorder:
    """A link that keeps what it was given."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def send(self, frame: bytes) -> None:
        self.frames.append(frame)

    def close(self, error: MingaError) -> None:
        raise AssertionError(error)


def audience_of(count: int) -> tuple[Audience, list[Recorder]]:
    audience, links = Audience(), [Recorder() for _ in range(count)]
    for number, link in enumerate(links):
        audience.add(Client(f"{number:016x}", "browser", "wasm", link))
    return audience, links


def test_a_broadcast_is_encoded_once() -> None:
    audience, links = audience_of(3)
    audience.tell_all(Evaluated(version=1, source="server", loss=0.5, metrics={}))
    assert links[0].frames[0] is links[1].frames[0] is links[2].frames[0]


def test_states_are_told_at_most_four_times_a_second() -> None:
    audience, links = audience_of(1)
    machine = Round(PLAN)
    for step in range(1000):
        now = step / 1000
        audience.state_changed(now)
        audience.tell_state(machine, {}, now)
    assert len(links[0].frames) == 4
    assert audience.timer() == 4 * STATE_SECONDS


def test_the_last_change_is_told_though_nothing_follows() -> None:
    audience, links = audience_of(1)
    machine = Round(PLAN)
    for now in (0.0, 0.1):
        audience.state_changed(now)
        audience.tell_state(machine, {}, now)
    assert audience.timer() == STATE_SECONDS
    audience.tell_state(machine, {}, STATE_SECONDS)
    assert (len(links[0].frames), audience.timer()) == (2, None)


def test_a_crowd_fits_a_frame() -> None:
    audience, links = audience_of(MAX_LISTED + 50)
    audience.state_changed(0.0)
    audience.tell_state(Round(PLAN), {f"{1:016x}": 7}, 0.0)
    state = decode_server(links[0].frames[0])
    assert isinstance(state, State)
    assert len(state.participants) == MAX_LISTED
    assert (state.participants[1].accepted, state.participants[0].accepted) == (7, 0)


def test_who_left_is_forgotten_when_asked() -> None:
    audience, _ = audience_of(3)
    for number in (0, 2):
        del audience.clients[f"{number:016x}"]
    audience.tell(f"{0:016x}", Evaluated(version=1, source="server", loss=0.5, metrics={}))
    assert len(audience.known) == 3
    audience.forget_absent(but=[f"{2:016x}"])
    assert list(audience.known) == [f"{1:016x}", f"{2:016x}"]


def test_a_public_id_tells_nothing_of_its_token() -> None:
    assert client_id("a" * 22) == client_id("a" * 22) != client_id("a" * 23)
    assert len(client_id("a" * 22)) == 16
