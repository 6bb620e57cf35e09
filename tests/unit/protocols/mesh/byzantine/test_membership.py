"""Seats are earned by checked work, rest after an absence, and are lost for good reasons only."""

from __future__ import annotations

from typing import Any

from backend.protocols.mesh.byzantine.membership import (
    MOST_NEWCOMERS,
    MOST_SEATS,
    MeshMembership,
    Newcomer,
    RoundFacts,
    SeatedMember,
    after_round,
)

PROBATION, AUDITS = 20, 2


def identity(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


def seated(*names: str) -> MeshMembership:
    return MeshMembership(tuple(SeatedMember(name, identity(name)) for name in sorted(names)))


def later(before: MeshMembership, number: int, **happened: Any) -> MeshMembership:
    record = RoundFacts(number, before.identities(), **happened)
    return after_round(before, record, PROBATION, AUDITS)


def clients(found: MeshMembership) -> list[str]:
    return [one.client for one in found.seats]


def test_a_newcomer_gets_a_seat_after_its_rounds_and_its_audits() -> None:
    found = MeshMembership(seated("a", "b").seats, (Newcomer("n", identity("n")),))
    for number in range(1, PROBATION):
        found = later(found, number, passed=[("n", {3: "a", 9: "b"}[number])] if number in (3, 9) else [])
    assert (clients(found), found.newcomers[0].audits) == (["a", "b"], (0, 1))
    assert clients(later(found, PROBATION)) == ["a", "b", "n"]


def test_rounds_alone_earn_no_seat() -> None:
    found = MeshMembership(seated("a", "b").seats, (Newcomer("n", identity("n")),))
    for number in range(1, 3 * PROBATION):
        found = later(found, number, passed=[("n", "a")] if number == 3 else [])
    assert clients(found) == ["a", "b"]


def test_many_audits_by_one_member_count_once() -> None:
    found = MeshMembership(seated("a", "b", "c").seats, (Newcomer("n", identity("n")),))
    for number in range(1, 3 * PROBATION):
        found = later(found, number, passed=[("n", "b")])
    assert (clients(found), found.newcomers[0].audits) == (["a", "b", "c"], (1,))


def test_where_fewer_have_seats_a_majority_of_them_is_enough() -> None:
    assert [seated(*"abcdefghijk"[:seats]).audits_needed(5) for seats in (1, 2, 3, 8, 11)] == [1, 2, 2, 5, 5]
    assert seated("a").audits_needed(0) == 0


def test_audits_count_as_long_as_who_made_them_has_a_seat() -> None:
    waiting = Newcomer("n", identity("n"), 3, (0, 1, 3))
    ready = Newcomer("aa", identity("aa"), PROBATION, (1, 2))
    before = MeshMembership(seated("a", "b", "c", "d").seats, (ready, waiting))
    found = later(before, 3, convicted=["b"], passed=[("n", "c")])
    # "aa" passed at "c" alone that is left, and two are needed.
    assert clients(found) == ["a", "c", "d"]
    assert [one.audits for one in found.newcomers] == [(1,), (0, 1, 2)]
    assert clients(later(found, 4, passed=[("aa", "a")])) == ["a", "aa", "c", "d"]
    assert later(found, 4, passed=[("aa", "a")]).newcomers[0].audits == (0, 2, 3)


def test_wrong_work_begins_the_probation_again() -> None:
    before = MeshMembership(seated("a", "b").seats, (Newcomer("n", identity("n"), PROBATION - 1, (0, 1)),))
    assert later(before, 5, failed=["n"], passed=[("n", "a")]).newcomers == (Newcomer("n", identity("n")),)


def test_who_did_not_work_gains_nothing() -> None:
    before = MeshMembership(seated("a", "b").seats, (Newcomer("n", identity("n"), 3, (0,)),))
    assert after_round(before, RoundFacts(5, [], passed=[("n", "b")]), PROBATION, AUDITS) == before


def test_nobody_gets_a_seat_while_its_work_is_judged_again() -> None:
    before = MeshMembership(seated("a", "b").seats, (Newcomer("n", identity("n"), PROBATION, (0, 1)),))
    waiting = later(before, 5, pending=["n"])
    assert clients(waiting) == ["a", "b"]
    assert clients(later(waiting, 6)) == ["a", "b", "n"]


def test_an_absent_member_rests_and_comes_back() -> None:
    found = later(seated("a", "b"), 7, absent=["b"])
    assert clients(found) == ["a", "b"]
    assert found.present(8) == found.present(12) == ("a",)
    assert found.present(13) == ("a", "b")


def test_the_third_absence_within_the_probation_costs_the_seat() -> None:
    found = seated("a", "b")
    for number in (1, 8):
        found = later(found, number, absent=["b"])
    assert clients(later(found, 15, absent=["b"])) == ["a"]
    assert clients(later(found, 1 + PROBATION, absent=["b"])) == ["a", "b"]


def test_who_keeps_back_its_part_of_the_coin_or_its_work_loses_its_seat_and_is_not_banned() -> None:
    found = later(seated("a", "b", "c"), 3, unrevealed=["b"], withheld=["c"])
    assert (clients(found), found.banned) == (["a"], ())


def test_a_convicted_identity_never_comes_back_under_another_name() -> None:
    found = later(seated("a", "b"), 3, convicted=["b"])
    assert (clients(found), found.banned) == (["a"], (identity("b"),))
    record = RoundFacts(4, ["a"], entered=[Newcomer("b2", identity("b")), Newcomer("c", identity("c"))])
    assert [one.client for one in after_round(found, record, PROBATION, AUDITS).newcomers] == ["c"]


def test_nobody_enters_with_the_identity_of_another_one() -> None:
    before = MeshMembership(seated("a").seats, (Newcomer("n", identity("n")),))
    entered = [Newcomer("x", identity("a")), Newcomer("y", identity("n")), Newcomer("z", identity("z"))]
    found = later(before, 3, entered=entered)
    assert [one.client for one in found.newcomers] == ["n", "z"]


def test_free_seats_go_to_those_who_worked_longest() -> None:
    names = [f"s{number:02}" for number in range(MOST_SEATS - 1)]
    waiting = tuple(Newcomer(name, identity(name), rounds, (0, 1)) for name, rounds in [("m", 30), ("n", 40)])
    found = later(MeshMembership(seated(*names).seats, waiting), 3)
    assert clients(found) == sorted([*names, "n"])
    assert [one.client for one in found.newcomers] == ["m"]


def test_forty_false_names_with_the_work_of_four_hold_at_most_four_seats() -> None:
    """A participant that computes for four can have only four of its names work in a round."""
    found = MeshMembership(
        seated("a", "b").seats, tuple(Newcomer(f"x{k:02}", identity(f"x{k:02}")) for k in range(40))
    )
    for number in range(1, 15 * PROBATION):
        names = [one.client for one in found.seats if one.client.startswith("x")]
        mine = [*names, *(one.client for one in found.newcomers)]
        worked = sorted(mine, key=lambda one: one not in names)[:4]
        absent = [one for one in names if one not in worked]
        record = RoundFacts(
            number,
            ["a", "b", *worked],
            absent=absent,
            passed=[(one, judge) for one in worked for judge in "ab"],
        )
        found = after_round(found, record, PROBATION, AUDITS)
        assert sum(one.client.startswith("x") for one in found.seats) <= 4


def test_thousands_of_names_crowd_out_no_newcomer_that_works_and_passes() -> None:
    """A state has all newcomers, and names cost nothing."""
    found = MeshMembership(seated("a", "b").seats, (Newcomer("zoe", identity("zoe"), 3, (0,)),))
    for number in range(1, 11):
        strangers = [Newcomer(f"{number}-{i:04}", identity(f"{number}-{i:04}"), 1) for i in range(300)]
        worked = {"a", "zoe", *(one.client for one in strangers)}
        facts = RoundFacts(number, worked, passed=[("zoe", "b")] if number == 5 else [], entered=strangers)
        found = after_round(found, facts, PROBATION, AUDITS)
        assert len(found.newcomers) == MOST_NEWCOMERS
    zoe = next(one for one in found.newcomers if one.client == "zoe")
    assert (zoe.rounds, zoe.audits) == (13, (0, 1))
