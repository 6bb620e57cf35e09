"""For whom the stages of a masked round wait, and how long."""

from __future__ import annotations

import pytest

from backend.protocols.secagg.client_slots import ClientSlot
from backend.protocols.secagg.stages import ANSWER_SECONDS, EXCHANGE_SECONDS, ServerStage, StageWait, owes
from backend.wire.masked_messages import Reveal, Shares


def seat(**said: object) -> ClientSlot:
    one = ClientSlot("0000", 0)
    for name, what in said.items():
        setattr(one, name, what)
    return one


@pytest.mark.parametrize(
    ("stage", "accepted", "said"),
    [
        (ServerStage.SHARES, False, {"shares": Shares(round=1, sealed=[])}),
        (ServerStage.SURVIVORS, True, {"signature": bytes(64)}),
        (ServerStage.UNMASK, True, {"reveal": Reveal(round=1, shares=[])}),
    ],
)
def test_a_client_owes_what_the_stage_asks_for_until_it_said_it(
    stage: ServerStage, accepted: bool, said: dict[str, object]
) -> None:
    assert owes(seat(accepted=accepted), stage)
    assert not owes(seat(accepted=accepted, **said), stage)
    assert not owes(seat(accepted=accepted, out=True), stage)


def test_who_is_not_in_the_sum_owes_nothing_for_it() -> None:
    assert not owes(seat(), ServerStage.SURVIVORS)
    assert not owes(seat(), ServerStage.UNMASK)


@pytest.mark.parametrize("stage", [ServerStage.INPUT, ServerStage.DONE, ServerStage.FAILED])
def test_nobody_owes_anything_where_nothing_is_asked_for(stage: ServerStage) -> None:
    assert StageWait.begun([seat(accepted=True)], 100.0, 0.0, 5.0).nobody(stage)


@pytest.mark.parametrize(
    ("seconds", "grace", "patience"),
    [(1000.0, 5.0, EXCHANGE_SECONDS), (40.0, 5.0, 10.0), (1000.0, 60.0, 60.0), (40.0, 60.0, 10.0)],
)
def test_keys_and_shares_have_a_quarter_of_the_round_each(
    seconds: float, grace: float, patience: float
) -> None:
    waiting = StageWait.begun([seat()], seconds, 7.0, grace)
    assert waiting.until(ServerStage.KEYS) == 7.0 + patience
    waiting.shares(9.0)
    assert waiting.until(ServerStage.SHARES) == 9.0 + patience


@pytest.mark.parametrize(("grace", "patience"), [(5.0, ANSWER_SECONDS), (60.0, 60.0)])
def test_answers_have_as_long_as_a_connection_may_be_lost(grace: float, patience: float) -> None:
    waiting = StageWait.begun([seat(accepted=True)], 100.0, 0.0, grace)
    waiting.answers(50.0)
    assert waiting.until(ServerStage.UNMASK) == 50.0 + patience


def test_where_all_who_owe_something_are_lost_the_last_has_its_grace_to_come_back() -> None:
    one, other = seat(lost_at=1.0), seat(lost_at=3.0)
    waiting = StageWait.begun([one, other], 100.0, 0.0, 5.0)
    assert waiting.until(ServerStage.KEYS) == 8.0
    other.out = True
    assert waiting.until(ServerStage.KEYS) == 6.0
    one.lost_at = None
    assert waiting.until(ServerStage.KEYS) == EXCHANGE_SECONDS


@pytest.mark.parametrize("last", [0, 1])
def test_a_stage_waits_for_the_last_one_in_whatever_order_they_answer(last: int) -> None:
    seats = [seat(), seat()]
    waiting = StageWait.begun(seats, 100.0, 0.0, 5.0)
    seats[1 - last].out = True
    assert not waiting.nobody(ServerStage.KEYS)
    seats[last].out = True
    assert waiting.nobody(ServerStage.KEYS)
