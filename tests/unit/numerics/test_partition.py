"""Parts of data that every client has: the same ones everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.partition import data_key, parse_part, part_name, part_rows, part_sizes

GOLDEN = json.loads((Path(__file__).parents[2] / "contract/vectors/dealing.json").read_text("utf-8"))
KEY = data_key(["0" * 64])


def test_keys_names_and_parts_equal_the_golden_vectors() -> None:
    for one in GOLDEN["keys"]:
        assert data_key(one["hashes"]) == one["key"]
    for one in GOLDEN["names"]:
        assert part_name(one["key"], one["half"], one["number"]) == one["name"]
    for one in GOLDEN["parts"]:
        n, most = one["examples"], one["most"]
        assert part_sizes(n, most) == one["sizes"]
        assert [part_rows(n, most, k).tolist() for k in range(len(one["sizes"]))] == one["parts"]


@given(st.integers(1, 500), st.integers(1, 60))
def test_every_example_is_in_one_part_and_none_is_too_long(n: int, most: int) -> None:
    sizes = part_sizes(n, most)
    parts = [part_rows(n, most, number) for number in range(len(sizes))]
    assert [len(part) for part in parts] == sizes
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1
    assert sorted(row for part in parts for row in part.tolist()) == list(range(n))


@given(st.sampled_from(["train", "held-out"]), st.integers(0, 16**15 - 1))
def test_a_name_is_as_long_as_a_hash_and_says_which_part_it_is(half: str, number: int) -> None:
    name = part_name(KEY, half, number)  # type: ignore[arg-type]  # Hypothesis knows no literals.
    assert len(name) == 64
    assert parse_part(KEY, name) == (half, number)


@pytest.mark.parametrize("name", ["", "f" * 64, KEY + "2" + "0" * 15, part_name(KEY, "train", 1)[:-1]])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no part of these data"):
        parse_part(KEY, name)


def test_a_part_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 4"):
        part_rows(10, 3, 4)
