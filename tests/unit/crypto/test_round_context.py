"""Everything that a round is bound to changes its hashes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto import round_context
from tests.contract.vectors.secagg.make_masked import OTHER_TERMS, TERMS, made

CHANGES: dict[str, Any] = {
    "task": "digit",
    "bundle": "0e" * 32,
    "round": 8,
    "version": 7,
    "weights": "a4" * 32,
    "parameters": 1211,
    "rows": 2,
    "bits": 31,
    "clip": 1.0000001,
    "examples": 101,
    "noise": 0.5,
    "share": 0.5,
    "min_clients": 4,
    "server": "active",
}


def test_every_term_is_tried() -> None:
    assert set(CHANGES) == set(round_context.Terms.__dataclass_fields__)


@pytest.mark.parametrize("name", CHANGES)
def test_each_term_changes_the_base(name: str) -> None:
    assert round_context.base_hash(replace(TERMS, **{name: CHANGES[name]})) != round_context.base_hash(TERMS)


@given(st.lists(st.binary(max_size=6), max_size=4), st.lists(st.binary(max_size=6), max_size=4))
def test_no_two_lists_of_parts_give_the_same_fields(one: list[bytes], other: list[bytes]) -> None:
    assert (round_context.fields(*one) == round_context.fields(*other)) == (one == other)


def test_base_roster_and_graph_change_the_context() -> None:
    base, roster = round_context.base_hash(TERMS), made("roster")
    contexts = [
        round_context.context_hash(base, roster, 65, 28, 9),
        round_context.context_hash(round_context.base_hash(OTHER_TERMS), roster, 65, 28, 9),
        round_context.context_hash(base, made("another"), 65, 28, 9),
        round_context.context_hash(base, roster, 66, 28, 9),
        round_context.context_hash(base, roster, 65, 30, 9),
        round_context.context_hash(base, roster, 65, 28, 10),
    ]
    assert len(set(contexts)) == len(contexts)


def test_signed_survivors_are_those_of_one_round() -> None:
    statements = [
        round_context.survivors_statement(made("one"), [0, 1, 2]),
        round_context.survivors_statement(made("other"), [0, 1, 2]),
        round_context.survivors_statement(made("one"), [0, 1]),
        round_context.survivors_statement(made("one"), [0, 1, 258]),
    ]
    assert len(set(statements)) == len(statements)


def test_the_ring_has_everybody_once_and_depends_on_the_context() -> None:
    clients = [f"client {n}" for n in range(100)]
    order = round_context.ring(made("a"), clients)
    assert sorted(order) == list(range(100))
    assert order != round_context.ring(made("b"), clients)
