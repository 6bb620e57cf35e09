"""What counted last for a peer of a mesh, of which it makes the next round."""

from __future__ import annotations

import msgspec
import pytest

from backend.protocols.mesh.serverless.last_round import MAX_ROUNDS_AHEAD, MEASURING_SHARE, LastRound
from backend.wire.mesh_messages import Group, ServerToPeer
from tests.contract.vectors.client.make_participant import abandoned, evaluate, state
from tests.contract.vectors.mesh.make_mesh_member import SECOND, Json, group, train


def said(event: Json) -> ServerToPeer:
    frame: ServerToPeer = msgspec.convert(event["frame"], ServerToPeer)
    return frame


ORDER = msgspec.convert(group(1, 0)["frame"], Group)


def last(*events: Json) -> LastRound:
    one = LastRound()
    for event in events:
        one.take_server_frame(said(event))
    return one


def test_where_nobody_averaged_there_is_no_patience_and_nothing_is_made() -> None:
    one = last(train(3), evaluate(3, 1))
    plan, request = one.plan, one.evaluation
    assert (one.patience, one.seconds) == (0.0, 0.0)
    one.begin(4, SECOND)
    assert (one.number, one.plan, one.begin_evaluation()) == (4, plan, request)


@pytest.mark.parametrize(("phase", "kept"), [("waiting", True), ("paused", False), ("finished", False)])
def test_an_owner_who_wants_no_rounds_gets_none_from_the_peers(phase: str, kept: bool) -> None:
    assert (last(train(3), state(phase, 3)).plan is not None) is kept


def test_the_newest_round_is_remembered_whoever_speaks_of_an_older_one() -> None:
    one = last(train(5), state("waiting", 2), train(3))
    one.take_group(ORDER)
    assert one.number == 5


def test_what_the_server_says_besides_changes_nothing() -> None:
    assert last(train(3), abandoned(9)) == last(train(3))


def test_a_round_is_followed_if_it_is_new_and_not_too_far_ahead() -> None:
    one = last(train(3))
    assert [one.can_begin(number) for number in (3, 4, 3 + MAX_ROUNDS_AHEAD, 4 + MAX_ROUNDS_AHEAD)] == [
        False,
        True,
        True,
        False,
    ]


def test_who_measures_does_it_in_a_part_of_the_time_and_from_the_weights_that_are_trained() -> None:
    one = last(train(3), evaluate(3, 1))
    one.take_group(ORDER)
    one.begin(4, SECOND)
    request = one.begin_evaluation()
    assert one.plan is not None
    assert request is not None
    assert (request.round, request.weights, request.version) == (4, SECOND, one.plan.version)
    assert request.seconds == MEASURING_SHARE * ORDER.seconds
    assert one.seconds == ORDER.seconds + request.seconds


def test_who_was_never_asked_to_measure_does_not() -> None:
    one = last(train(3))
    one.take_group(ORDER)
    one.begin(4, SECOND)
    assert one.begin_evaluation() is None
