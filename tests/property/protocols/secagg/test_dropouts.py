"""Whoever leaves when: the exact sum of the updates that came, or nothing, as a formula says."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.wire.masked_messages import Server
from tests.support.protocols.secagg.dropouts import LEAST, PHASES, Losses, hear_and_speak, play, predicted
from tests.support.protocols.secagg.world import World, masking


def played(count: int, lost: Losses, server: Server) -> World:
    """A round of so many clients, some of whom leave."""
    world = World(count, masking(server, LEAST))
    play(world, lost)
    return world


def check(world: World, count: int, lost: Losses) -> None:
    expected = predicted(count, lost)
    assert world.outcome == ("failed" if expected is None else "done"), world.failed
    world.check()
    if expected is not None:
        assert len(world.taken) == expected
        assert world.plain_sum().tolist() == world.sum.tolist()  # type: ignore[union-attr]  # There is a sum.


def numbers(count: int) -> list[int]:
    """How many leave: all numbers of few clients; of many some, and those around the threshold."""
    most = count - (2 * count // 3 + 1)
    if count <= 10:
        return list(range(count + 1))
    return sorted({0, count // 2, count, most - 1, most, most + 1, count - LEAST, count - LEAST + 1})


MATRIX = [
    (count, phase, lost, server)
    for count in (5, 10, 50)
    for phase in PHASES
    for lost in numbers(count)
    for server in (("honest", "active") if count < 50 else ("honest",))
]


@pytest.mark.parametrize(
    ("count", "phase", "lost", "server"),
    [pytest.param(*case, marks=pytest.mark.long if case[0] == 50 else ()) for case in MATRIX],
)
def test_a_fraction_that_leaves_in_one_phase(count: int, phase: str, lost: int, server: Server) -> None:
    losses = Losses(**{phase: lost})
    check(played(count, losses, server), count, losses)


@pytest.mark.parametrize("phase", PHASES)
def test_many_clients_of_a_server_that_may_lie(phase: str) -> None:
    most = 50 - (2 * 50 // 3 + 1)
    for lost in (most, most + 1):
        losses = Losses(**{phase: lost})
        check(played(50, losses, "active"), 50, losses)


@settings(max_examples=60)
@given(
    st.integers(3, 12),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.sampled_from(["honest", "active"]),
)
def test_clients_that_leave_in_all_phases(count: int, numbers: list[int], server: Server) -> None:
    left = count
    leaving = []
    for number in numbers:
        leaving.append(min(number, left))
        left -= leaving[-1]
    losses = Losses(*leaving)
    check(played(count, losses, server), count, losses)


def test_the_matrix_has_rounds_that_succeed_and_rounds_that_fail_in_each_phase() -> None:
    for phase in PHASES:
        outcomes = {
            predicted(n, Losses(**{phase: lost})) is None for n, one, lost, _ in MATRIX if one == phase
        }
        assert outcomes == {True, False}


@pytest.mark.parametrize("late", [0, 1, 5])
def test_a_round_of_a_sparse_graph_survives_a_third_that_leaves(late: int) -> None:
    """Of 80 clients each has 28 neighbours, of whom 9 recover a secret."""
    world = World(80, masking("honest", LEAST), 5)
    leaving = list(world.holders)[::3]
    staying = [client for client in world.holders if client not in leaving]
    hear_and_speak(world, list(world.holders))
    hear_and_speak(world, list(world.holders))
    for client in leaving:
        world.hang_up(client)
    hear_and_speak(world, staying)
    world.end_inputs()
    # They sign the survivors, then they reveal.
    hear_and_speak(world, staying[late:])
    hear_and_speak(world, staying[late:])
    world.wait()
    assert world.outcome == "done"
    assert sorted(world.taken) == staying
    world.check()


def test_a_sparse_graph_of_which_too_much_leaves_fails_closed() -> None:
    world = World(80, masking("honest", LEAST), 5)
    staying = list(world.holders)[:20]
    hear_and_speak(world, list(world.holders))
    hear_and_speak(world, list(world.holders))
    for client in list(world.holders)[20:]:
        world.hang_up(client)
    hear_and_speak(world, staying)
    world.end_inputs()
    assert world.outcome == "failed"
    world.check()
