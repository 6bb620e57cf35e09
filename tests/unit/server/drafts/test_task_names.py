"""Whether a draft's name is free is known while it is written, with a name that is."""

from __future__ import annotations

import pytest

from backend.server.drafts.record import Draft
from backend.server.drafts.task_names import check_name, suggestion


def draft(number: int, owner: str, name: str) -> Draft:
    return Draft(f"{number:016x}", owner, float(number), 1.0, {"name": name})


def test_a_free_name_is_fine() -> None:
    assert check_name("cats", {"dogs"}, [], "ann").problem is None


def test_the_name_of_a_task_is_refused_with_a_free_one() -> None:
    check = check_name("digits", {"digits", "digits-2"}, [draft(1, "bob", "digits-3")], "ann")
    assert check.suggestion == "digits-4"
    assert check.problem == "There is a task called 'digits' already. Take another name, digits-4 say."


def test_the_second_of_two_drafts_is_told_and_the_first_is_not() -> None:
    first, second = draft(1, "ann", "cats"), draft(2, "ann", "cats")
    both = [first, second]
    assert check_name("cats", (), both, "ann", first).problem is None
    told = check_name("cats", (), both, "ann", second)
    assert told.problem == "Another draft of yours is called 'cats'. Take another name, cats-2 say."
    assert check_name("cats-2", (), both, "ann", second).problem is None
    assert "Somebody else" in str(check_name("cats", (), both, "eve").problem)


@pytest.mark.parametrize("name", ["", "-a", "Cats", "a b", "a" * 65, "a\n"])
def test_what_is_no_name_is_told(name: str) -> None:
    check = check_name(name, (), [], "ann")
    assert "1 to 64 characters" in str(check.problem)
    assert check.suggestion is None


def test_suggestions_count_on_and_stay_short() -> None:
    assert suggestion("cats-7", {"cats-8"}) == "cats-9"
    assert suggestion("a" * 64, ()) == "a" * 62 + "-2"
    assert suggestion("-3", ()) == "-3-2"
