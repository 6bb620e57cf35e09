"""Lots are drawn by a key, and seats go to households."""

from __future__ import annotations

from collections import Counter

from backend.protocols.rounds.attendance import Attendance
from backend.protocols.rounds.household_seats import HouseholdSeats
from backend.protocols.rounds.lots import Lots

CLIENTS = [f"c{number}" for number in range(40)]


def attendance(lots: Lots, most: int = 0, households: int = 40) -> Attendance:
    made = Attendance(own_data=False, past={}, lots=lots, most_per_household=most)
    for number, client in enumerate(CLIENTS):
        made.join(client, "masked", f"network-{number % households}")
        made.ready(client)
    return made


def test_another_key_draws_other_lots_and_the_same_key_the_same() -> None:
    one, other = Lots(bytes(32)), Lots(bytes([1]) * 32)
    assert attendance(one).select(10, "train/1", "masked") == attendance(one).select(10, "train/1", "masked")
    assert attendance(one).select(10, "train/1", "masked") != attendance(other).select(
        10, "train/1", "masked"
    )
    assert attendance(one).select(10, "train/1", "masked") != attendance(one).select(10, "train/2", "masked")
    assert one.seed("groups") != other.seed("groups") < 2**64


def test_runs_of_a_task_have_lots_of_their_own() -> None:
    lots = Lots(bytes(32))
    keys = {lots.of_task(name, run).key for name in ("a", "1/a") for run in (1, 11)}
    assert len(keys) == 4
    assert "key" not in repr(lots)


def test_everybody_in_a_masked_task_gets_a_turn_again_and_again() -> None:
    made, turns = attendance(Lots(bytes(32))), Counter[str]()
    for number in range(40):
        chosen = made.select(10, f"train/{number}", "masked")
        for client in chosen:
            made.took_part(client)
        turns.update(chosen)
    # Ten turns each on average.
    assert min(turns[client] for client in CLIENTS) >= 6
    assert max(turns.values()) <= 14


def test_a_household_gets_its_seats_and_no_more() -> None:
    made = attendance(Lots(bytes(32)), most=2, households=4)
    assert made.available_for("masked") == made.available == 8
    for number in range(10):
        chosen = made.select(10, f"train/{number}", "masked")
        networks = Counter(CLIENTS.index(client) % 4 for client in chosen)
        assert networks == Counter(dict.fromkeys(range(4), 2))
    for client in CLIENTS[::4]:
        made.leave(client)
    assert made.available_for("masked") == 6


def test_open_rounds_have_no_seats_to_give() -> None:
    made = Attendance(own_data=False, past={}, most_per_household=1)
    for client in CLIENTS:
        made.join(client, "open", "network")
        made.ready(client)
    assert made.available == len(CLIENTS) == len(made.select(40, "train/1", "open"))


def test_nobodys_household_takes_no_seat_of_another() -> None:
    seats = HouseholdSeats(1)
    for _ in range(3):
        seats.add("")
    seats.add("network")
    seats.add("network")
    assert seats.available == 4
    seats.remove("")
    seats.remove("network")
    assert seats.available == 3
    seats.keep("network")
    assert seats.available == 2
    seats.give_back("network")
    assert seats.available == 3
