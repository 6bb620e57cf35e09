"""When those without a part in a round stop waiting for it."""

from __future__ import annotations

from backend.peer.mesh.byzantine.round_watch import RoundWatch
from tests.support.peer.byzantine_groups import order_of


def test_a_round_is_lost_once_half_of_those_who_take_part_have_no_result_each_counted_once() -> None:
    """So a minority of liars ends nobody's wait."""
    watch = RoundWatch(order_of([]), ["ann", "bob", "cat", "dan"])
    for client in ("ann", "ann", "eve"):
        watch.failed(client)
    assert not watch.is_lost
    watch.failed("bob")
    assert watch.is_lost
