"""What differs between two drafts."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from backend.server.drafts.review.differences import MAX_CHANGES, Side, differences
from backend.server.drafts.task_tables import begin

VALUES = st.recursive(
    st.booleans() | st.integers() | st.text(), lambda inner: st.dictionaries(st.text(), inner, max_size=3)
)


def sentences(before: Side, after: Side) -> list[str]:
    return [one.text for one in differences(before, after)]


def test_each_kind_of_change_has_its_sentence() -> None:
    before, after = begin("cats", "Cats"), begin("cats", "Cats and dogs")
    after["coordination"] = {**after["coordination"], "rounds": 30, "quorum": 2}
    after["model"] = {key: value for key, value in after["model"].items() if key != "batch_size"}
    first = Side(before, "One\nTwo\n", {"model": "a" * 64, "data": "b" * 64})
    second = Side(after, "One\nThree\nFour\n", {"model": "c" * 64})
    assert sentences(first, second) == [
        "coordination.quorum is added: 2.",
        "coordination.rounds rises from 20 to 30.",
        "model.batch_size is left out; it was 32.",
        'title changes from "Cats" to "Cats and dogs".',
        "Only the first has a data file.",
        "The model is another file.",
        "The description differs: 2 lines are added, 1 left out.",
    ]


@given(st.dictionaries(st.text(), VALUES, max_size=5))
def test_nothing_differs_from_its_copy(task: dict[str, Any]) -> None:
    assert differences(Side(task, "", {}), Side(copy.deepcopy(task), "", {})) == []


def test_vast_texts_are_not_compared_line_by_line() -> None:
    many = "\n".join(map(str, range(5000)))
    assert sentences(Side({}, many, {}), Side({}, many[::-1], {})) == ["The description differs."]


def test_true_is_not_one() -> None:
    assert sentences(Side({"a": 1}, "", {}), Side({"a": True}, "", {})) == ["a changes from 1 to true."]


def test_what_is_told_is_bounded() -> None:
    many: dict[str, Any] = {f"k{n}": "x" * 1000 for n in range(2 * MAX_CHANGES)}
    found = differences(Side({}, "", {}), Side(many, "", {}))
    assert len(found) == MAX_CHANGES
    assert all(len(one.text) < 200 for one in found)
