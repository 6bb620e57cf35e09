"""How a plan walks through a client's examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.numerics.walk import Walk

VECTORS = Path(__file__).parents[2] / "contract" / "vectors"


@pytest.mark.parametrize("case", json.loads((VECTORS / "walks.json").read_bytes()))
def test_a_walk_equals_the_golden_vectors(case: dict[str, object]) -> None:
    first = case["first_step"]
    walk = Walk(case["seed"], case["epochs"], case["steps"], case["batch_size"], first)  # type: ignore[arg-type]
    assert [rows.tolist() for rows in walk.batches(case["examples"])] == case["batches"]  # type: ignore[arg-type]


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 30))
def test_steps_are_taken_exactly_and_visit_all_examples_equally_often(
    examples: int, size: int, steps: int
) -> None:
    rows = [row for batch in Walk(3, 0, steps, size).batches(examples) for row in batch.tolist()]
    visits = [rows.count(example) for example in range(examples)]
    assert Walk(3, 0, steps, size).length(examples) == steps
    assert max(visits) - min(visits) <= 1


@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 4))
def test_epochs_visit_every_example_once_each(examples: int, size: int, epochs: int) -> None:
    walk = Walk(5, epochs, 0, size)
    batches = list(walk.batches(examples))
    assert len(batches) == walk.length(examples)
    assert sorted(row for rows in batches for row in rows.tolist()) == sorted([*range(examples)] * epochs)


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 4), st.data())
def test_walks_that_begin_where_another_stopped_visit_what_one_walk_visits(
    examples: int, size: int, epochs: int, data: st.DataObject
) -> None:
    whole = Walk(5, epochs, 0, size)
    stop = data.draw(st.integers(0, whole.length(examples)))
    parts = [Walk(5, 0, stop, size), Walk(5, epochs, 0, size, first_step=stop)]
    taken = [rows.tolist() for walk in parts if walk is parts[1] or stop for rows in walk.batches(examples)]
    assert taken == [rows.tolist() for rows in whole.batches(examples)]
