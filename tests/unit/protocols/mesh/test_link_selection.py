"""Which way two peers try first, who begins, and what they do when it fails."""

from __future__ import annotations

from backend.protocols.mesh.link_selection import MOST_SECONDS, AbandonWay, Linking, TryWay
from backend.wire.mesh_fields import Way

ALL: tuple[Way, ...] = ("websocket", "webrtc", "relay")


def linking(
    ways: tuple[Way, ...] = ALL, smaller: bool = True, dials: bool = False, dialled: bool = False
) -> Linking:
    return Linking(ways, is_smaller=smaller, dials=dials, is_dialled=dialled, now=0.0)


def begun(one: Linking, until: float, since: float = 0.0) -> list[tuple[float, Way]]:
    """What is begun, looked at five times a second."""
    times = [since + step / 5 for step in range(round((until - since) * 5))]
    return [(now, step.way) for now in times for step in one.tick(now) if isinstance(step, TryWay)]


def test_the_smaller_id_begins_at_once_and_the_other_three_seconds_later() -> None:
    assert begun(linking(("webrtc", "relay")), 4.0) == [(0.0, "webrtc")]
    assert begun(linking(("webrtc", "relay"), smaller=False), 4.0) == [(3.0, "webrtc")]


def test_the_server_relays_when_nothing_else_came_about_in_eight_seconds() -> None:
    assert begun(linking(("webrtc", "relay")), 9.0) == [(0.0, "webrtc"), (8.0, "relay")]
    assert begun(linking(("relay",)), 1.0) == [(0.0, "relay")]


def test_whoever_can_connect_does() -> None:
    assert begun(linking(smaller=False, dials=True), 1.0) == [(0.0, "websocket")]
    assert begun(linking(smaller=False, dials=True, dialled=True), 4.0) == [(3.0, "websocket")]
    assert begun(linking(dialled=True), 4.4) == [(4.0, "webrtc")]
    assert begun(linking(), 0.4) == [(0.0, "webrtc")]


def test_nothing_better_is_left_to_try_beside_the_best_way() -> None:
    one = linking(dials=True)
    assert begun(one, 1.0) == [(0.0, "websocket")]
    one.opened("websocket")
    assert begun(one, 200.0, since=1.0) == []
    assert one.best == "websocket"


def test_beside_the_relay_better_ways_are_tried_once_a_minute() -> None:
    one = linking(("webrtc", "relay"))
    begun(one, 10.0)
    one.opened("relay")
    one.ended("webrtc", 10.0)
    assert str(one.best) == "relay"
    assert begun(one, 69.0, since=10.0) == []
    assert begun(one, 71.0, since=69.0) == [(70.0, "webrtc")]
    one.opened("webrtc")
    assert str(one.best) == "webrtc"
    assert one.open == {"webrtc", "relay"}


def test_an_attempt_that_takes_too_long_is_given_up_and_tried_again() -> None:
    one = linking(("webrtc",))
    assert begun(one, 1.0) == [(0.0, "webrtc")]
    late = MOST_SECONDS["webrtc"] + 0.1
    assert one.tick(late) == [AbandonWay("webrtc")]
    assert begun(one, late + 5.0, since=late)[0][1] == "webrtc"


def test_pauses_grow_to_half_a_minute() -> None:
    one, now = linking(("webrtc",)), 0.0
    pauses = []
    for _ in range(8):
        (start, _way), *_ = begun(one, now + 40.0, since=now)
        pauses.append(start - now)
        now = start
        one.ended("webrtc", now)
    assert pauses[0] == 0.0
    assert pauses == sorted(pauses)
    assert 30.0 <= pauses[-1] < 30.3


def test_after_a_loss_the_ways_are_tried_from_the_first_on() -> None:
    one = linking(dials=True, smaller=False, dialled=True)
    one.opened("webrtc")
    one.ended("webrtc", 100.0)
    assert begun(one, 102.0, since=100.0) == [(101.0, "websocket")]


def test_who_answers_does_not_begin_an_attempt_of_its_own() -> None:
    one = linking(("webrtc",))
    one.answering("webrtc", 0.0)
    assert begun(one, 19.0) == []
    one.opened("webrtc")
    assert one.best == "webrtc"
