"""Beats tell both ends how long a frame takes; silence and rates are told from what was heard and sent."""

from __future__ import annotations

import pytest

from backend.protocols.mesh.keepalive import Keepalive


def test_both_ends_learn_the_time_there_and_back_whatever_their_clocks_say() -> None:
    """One clock is 1,000 s ahead of the other; a frame takes 0.1 s, and beats stand a second apart."""
    one, other, ahead = Keepalive(0.0), Keepalive(1000.0), 1000.0
    for turn in range(30):
        now = float(turn)
        other.beat_heard(one.beat(now), now + 0.1 + ahead)
        one.beat_heard(other.beat(now + 0.5 + ahead), now + 0.6)
    assert one.seconds == pytest.approx(0.2)
    assert other.seconds == pytest.approx(0.2)


def test_a_first_beat_has_no_echo_and_tells_nothing() -> None:
    one, other = Keepalive(5.0), Keepalive(5.0)
    one.beat_heard(other.beat(6.0), 6.1)
    assert one.seconds == 0.0


@pytest.mark.parametrize("sent", [1e12, float("nan"), float("inf")])
def test_a_beat_that_lies_changes_nothing(sent: float) -> None:
    one = Keepalive(0.0)
    honest = one.beat(1.0)
    one.beat_heard(type(honest)(sent=1.0, echo=sent, since=0.0), 2.0)
    assert one.seconds == 0.0


def test_beats_are_due_as_often_as_asked() -> None:
    one = Keepalive(0.0)
    assert not one.is_due(1.9, 2.0)
    assert one.is_due(2.0, 2.0)
    one.beat(2.0)
    assert not one.is_due(3.0, 2.0)


def test_silence_lasts_until_something_comes() -> None:
    one = Keepalive(0.0)
    assert one.silence(4.0) == 4.0
    one.heard(4.0)
    assert one.silence(5.0) == 1.0


def test_the_rate_is_that_of_a_link_that_has_work() -> None:
    one, size = Keepalive(0.0), 100_000
    for step in range(40):
        one.sent(size, size, step / 10)
    assert one.rate == pytest.approx(1e6, rel=1e-6)
    # Nothing waits for a long time: that is no slowness.
    one.sent(size, 0, 4.0)
    rate = one.rate
    for step in range(40):
        one.sent(size, size, 100 + step / 10)
    assert one.rate == pytest.approx(rate, rel=1e-6)
