"""What may follow what in a task's life, and what never changes by an order that does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import OrderError
from backend.protocols.tasks.task_life import ENDED, ORDERS, RUNNING, UNDER_WAY, Life, LifeState, Order

ORDER = st.sampled_from(Order)
TEST = Life(LifeState.TEST, LifeState.TEST)


def led(*orders: Order, life: Life = TEST) -> Life:
    """A life after some orders, a second each."""
    for second, order in enumerate(orders, start=1):
        life = life.obey(order, f"because of {order}", float(second))
    return life


def test_a_task_is_tested_launched_paused_resumed_finished_and_archived() -> None:
    life = led(Order.LAUNCH, Order.PAUSE, Order.RESUME, Order.FINISH)
    assert (life.state, life.since, life.reason) == (LifeState.FINISHING, 4.0, "because of finish")
    life = life.rounds_ended("All rounds are done.", 9.0)
    assert (life.state, life.by_owner, life.reason) == (LifeState.FINISHED, True, "because of finish")
    assert led(Order.ARCHIVE, life=life).state is LifeState.ARCHIVED


@pytest.mark.parametrize("state", LifeState)
def test_orders_are_those_of_the_table_and_others_are_refused_with_what_may_be_asked(
    state: LifeState,
) -> None:
    life = Life(state, by_owner=True)
    assert set(life.orders) == set(ORDERS[state])
    for order in set(Order) - set(ORDERS[state]):
        with pytest.raises(OrderError, match=r"It may be asked to \w+"):
            life.obey(order, "", 1.0)


@pytest.mark.parametrize("running", sorted(RUNNING))
def test_resume_leads_back_to_where_a_task_was(running: LifeState) -> None:
    for away in ([Order.PAUSE], [Order.FINISH], [Order.STOP], [Order.PAUSE, Order.FINISH]):
        life = led(*away, Order.RESUME, life=Life(running, running))
        assert (life.state, life.by_owner) == (running, False)


@pytest.mark.parametrize(
    ("order", "ended"), [(Order.FINISH, LifeState.FINISHED), (Order.STOP, LifeState.STOPPED)]
)
def test_restore_leads_back_to_how_a_task_ended(order: Order, ended: LifeState) -> None:
    life = led(order).rounds_ended("", 2.0)
    assert life.state is ended
    assert led(Order.ARCHIVE, Order.RESTORE, life=life).state is ended


def test_what_the_rules_ended_cannot_be_resumed() -> None:
    life = led(Order.LAUNCH).rounds_ended("All rounds are done.", 5.0)
    assert (life.state, life.by_owner, life.orders) == (LifeState.FINISHED, False, (Order.ARCHIVE,))
    with pytest.raises(OrderError, match=r"ended this training: All rounds are done\. It may be asked"):
        life.obey(Order.RESUME, "", 6.0)


def test_the_end_of_rounds_changes_nothing_once_a_task_was_stopped_or_archived() -> None:
    for life in (led(Order.STOP), led(Order.STOP, Order.ARCHIVE)):
        assert life.rounds_ended("All rounds are done.", 9.0) == life


def test_a_server_takes_up_what_the_one_before_it_left() -> None:
    assert led(Order.PAUSE).opened(done=False, now=9.0).state is LifeState.PAUSED
    finishing = led(Order.FINISH).opened(done=False, now=9.0)
    assert (finishing.state, finishing.by_owner) == (LifeState.FINISHED, True)
    assert led(Order.STOP).opened(done=True, now=9.0).state is LifeState.STOPPED
    assert led(Order.LAUNCH).opened(done=True, now=9.0).state is LifeState.FINISHED


def test_a_task_whose_rules_were_widened_goes_on() -> None:
    life = led(Order.LAUNCH).rounds_ended("All rounds are done.", 5.0).opened(done=False, now=9.0)
    assert (life.state, life.reason) == (LifeState.LIVE, "")


@given(st.lists(st.one_of(ORDER, st.just(None), st.booleans()), max_size=30))
def test_whatever_is_asked_a_life_keeps_to_its_table(steps: list[Order | bool | None]) -> None:
    life, now = TEST, 0.0
    for step in steps:
        before, now = life, now + 1.0
        if isinstance(step, Order):
            try:
                life = life.obey(step, "", now)
            except OrderError:
                assert life == before
                assert step not in before.orders
            else:
                assert step in before.orders
        elif step is None:
            life = life.rounds_ended("Done.", now)
            assert life.state not in UNDER_WAY
        else:
            life = life.opened(step, now)
            assert life.state is not LifeState.FINISHING
        assert life.running in RUNNING
        assert life.ended in ENDED
        assert life.since in (before.since, now)
