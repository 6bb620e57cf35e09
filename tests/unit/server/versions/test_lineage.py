"""What roll-backs make of the versions of a task."""

from __future__ import annotations

from backend.server.versions.lineage import Lineage, lineage_of
from backend.stores.contracts import VersionRecord


def version(number: int, weights: str, accepted: int = 2) -> VersionRecord:
    return VersionRecord(number, number, weights * 64, None, accepted, 10 * accepted, None, {}, 1.0, 0.0)


def test_without_a_roll_back_nothing_is_left_behind() -> None:
    assert lineage_of([]) == Lineage()
    assert lineage_of([version(0, "a", 0), version(1, "b"), version(2, "c")]) == Lineage()


def test_a_roll_back_leaves_behind_what_was_made_since() -> None:
    versions = [version(0, "a", 0), version(1, "b"), version(2, "c"), version(3, "d"), version(4, "b", 0)]
    assert lineage_of(versions) == Lineage({4: 1}, frozenset({2, 3}))
    assert lineage_of([*versions, version(5, "e")]) == Lineage({4: 1}, frozenset({2, 3}))


def test_a_roll_back_behind_a_roll_back_leaves_both_behind() -> None:
    versions = [version(0, "a", 0), version(1, "b"), version(2, "c"), version(3, "b", 0), version(4, "a", 0)]
    assert lineage_of(versions) == Lineage({3: 1, 4: 0}, frozenset({1, 2, 3}))


def test_who_takes_up_what_was_left_behind_leaves_the_other_way() -> None:
    versions = [version(0, "a", 0), version(1, "b"), version(2, "c"), version(3, "b", 0), version(4, "c", 0)]
    assert lineage_of(versions) == Lineage({3: 1, 4: 2}, frozenset({3}))


def test_a_version_that_is_repeated_leaves_nothing_behind() -> None:
    versions = [version(0, "a", 0), version(1, "b"), version(2, "b", 0), version(3, "b", 0), version(4, "c")]
    assert lineage_of(versions) == Lineage({2: 1, 3: 1})


def test_updates_that_change_nothing_are_no_roll_back() -> None:
    assert lineage_of([version(0, "a", 0), version(1, "b"), version(2, "b")]) == Lineage()
