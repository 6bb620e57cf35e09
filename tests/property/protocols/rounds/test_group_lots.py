"""The split of a cohort into masked groups: complete, balanced, secret, and the same after a restart."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.rounds.group_lots import draw_groups
from backend.protocols.rounds.lots import Lots

LOTS = Lots(bytes(range(32)))


@given(
    st.sets(st.text("0123456789abcdef", min_size=1, max_size=16), min_size=1, max_size=60),
    st.data(),
    st.binary(min_size=32, max_size=32),
)
def test_every_member_is_in_one_group_and_sizes_differ_by_one_at_most(
    members: set[str], data: st.DataObject, key: bytes
) -> None:
    count = data.draw(st.integers(1, len(members)))
    groups = draw_groups(members, count, Lots(key), "groups/1")
    assert sorted(member for group in groups for member in group) == sorted(members)
    assert len(groups) == count
    sizes = [len(group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= len(members) // count
    assert draw_groups(sorted(members), count, Lots(key), "groups/1") == groups


def test_another_round_or_key_has_other_groups() -> None:
    members = [f"client-{number}" for number in range(15)]
    first = draw_groups(members, 5, LOTS, "groups/1")
    assert draw_groups(members, 5, LOTS, "groups/2") != first
    assert draw_groups(members, 5, Lots(bytes(32)), "groups/1") != first


def test_no_name_gets_into_the_group_of_a_victim_more_often_than_chance() -> None:
    """Without the lots an attacker meets the victim in (size - 1) / (members - 1) of the rounds."""
    members, rounds = ["victim", *(f"client-{number}" for number in range(14))], 2000
    met = Counter[str]()
    for number in range(rounds):
        groups = draw_groups(members, 5, LOTS, f"groups/{number}")
        met.update(next(group for group in groups if "victim" in group))
    del met["victim"]
    assert len(met) == 14
    for count in met.values():
        assert count / rounds == pytest.approx(2 / 14, abs=0.035)


@pytest.mark.parametrize("count", [0, 4])
def test_more_groups_than_members_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"3 members cannot be split into {count} groups"):
        draw_groups(["a", "b", "c"], count, LOTS, "groups/1")
