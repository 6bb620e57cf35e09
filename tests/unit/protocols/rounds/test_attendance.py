from __future__ import annotations

from collections import Counter

import pytest

from backend.protocols.rounds.attendance import Attendance, target_updates, with_reserve
from backend.protocols.rounds.phases import IllegalEventError


def attendance(*clients: str, own_data: bool = False, past: dict[str, int] | None = None) -> Attendance:
    made = Attendance(own_data, past or {})
    for client in clients:
        made.join(client)
        made.ready(client)
    return made


@pytest.mark.parametrize(
    ("available", "fraction", "least", "count"),
    [(10, 1.0, 2, 10), (10, 0.5, 2, 5), (10, 0.1, 2, 2), (100, 0.29, 2, 29), (1, 0.5, 2, 1), (0, 1.0, 2, 0)],
)
def test_a_fraction_is_wanted_but_a_least_number_where_so_many_are_there(
    available: int, fraction: float, least: int, count: int
) -> None:
    assert target_updates(available, fraction, least) == count


@pytest.mark.parametrize(("over", "count"), [(0.0, 10), (0.3, 13), (0.01, 11), (5.0, 20)])
def test_a_reserve_is_chosen_beside_the_wanted(over: float, count: int) -> None:
    assert with_reserve(10, 20, over) == count


def test_everybody_gets_its_turn_before_anybody_gets_a_second() -> None:
    clients = [f"c{number}" for number in range(10)]
    made, turns = attendance(*clients), Counter[str]()
    for draw in range(20):
        chosen = made.select(3, f"1/{draw}")
        for client in chosen:
            made.took_part(client)
        turns.update(chosen)
        assert max(turns.values()) - min(turns[client] for client in clients) <= 1


def test_ties_are_drawn_by_lot_and_the_same_lot_twice() -> None:
    clients = [f"c{number}" for number in range(20)]
    draws = [attendance(*clients).select(5, f"1/train/{number}") for number in range(6)]
    assert len(set(draws)) > 1
    assert draws == [attendance(*reversed(clients)).select(5, f"1/train/{number}") for number in range(6)]


def test_a_newcomer_begins_level_with_those_who_took_part_least() -> None:
    made = attendance("a", "b", past={"a": 7, "b": 9})
    made.select(1, "x")
    made.join("new")
    assert made["new"].participations == 7


def test_who_leaves_and_comes_back_keeps_its_turns() -> None:
    made = attendance("a", "b")
    made.took_part("a")
    made.leave("a")
    made.join("a")
    assert made["a"].participations == 1
    assert not made.is_ready("a")


def test_without_examples_of_its_own_nobody_is_chosen_where_they_are_needed() -> None:
    made = attendance("a", own_data=True)
    assert made.available == 0
    made["a"].examples = 5
    made.ready("a")
    assert made.select(1, "x") == ("a",)


def test_one_who_is_silent_is_not_available_before_a_sign_of_life() -> None:
    made = attendance("a", "b")
    made.suspend("a")
    assert made.select(2, "x") == ("b",)
    made.ready("a")
    assert made.available == 2


def test_one_who_is_not_here_is_an_error_of_the_host() -> None:
    with pytest.raises(IllegalEventError):
        attendance("a")["b"]
    with pytest.raises(IllegalEventError):
        attendance("a").join("a")
