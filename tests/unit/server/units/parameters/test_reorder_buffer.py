"""Receipts come in the order of their bases, however their servers end."""

from __future__ import annotations

import random

import pytest

from backend.server.units.parameters.reorder_buffer import ReorderBuffer


def test_who_is_alone_waits_for_nobody() -> None:
    order: ReorderBuffer[str] = ReorderBuffer()
    assert order.end(order.begin(), 1, "first") == ["first"]
    assert order.end(order.begin(), 2, "second") == ["second"]


def test_a_higher_base_waits_for_those_who_may_have_a_lower_one() -> None:
    order: ReorderBuffer[str] = ReorderBuffer()
    slow, quick = order.begin(), order.begin()
    assert order.end(quick, 2, "second") == []
    assert order.end(slow, 1, "first") == ["first", "second"]
    assert order.end(order.begin(), 3, "third") == ["third"]


def test_nobody_waits_for_one_that_began_later() -> None:
    order: ReorderBuffer[str] = ReorderBuffer()
    first, second = order.begin(), order.begin()
    assert order.end(first, 1, "first") == []
    third = order.begin()
    assert order.end(second, 2, "second") == ["first"]
    assert order.end(third, 3, "third") == ["second", "third"]


def test_one_that_fails_holds_up_nobody() -> None:
    order: ReorderBuffer[str] = ReorderBuffer()
    failing, well = order.begin(), order.begin()
    assert order.end(well, 1, "first") == []
    assert order.fail(failing) == ["first"]


@pytest.mark.parametrize("seed", range(20))
def test_all_come_and_in_order_whatever_ends_when(seed: int) -> None:
    """Each server writes, which gives it its base, some time before it ends."""
    dice, order = random.Random(seed), ReorderBuffer[int]()
    started: list[int] = []
    written: list[tuple[int, int]] = []
    told: list[int] = []
    base = 0
    while base < 200 or started or written:
        step = dice.random()
        if step < 0.35 and base < 200 and len(started) + len(written) < 6:
            started.append(order.begin())
        elif step < 0.7 and started:
            base += 1
            written.append((started.pop(dice.randrange(len(started))), base))
        elif written:
            number, its = written.pop(dice.randrange(len(written)))
            told += order.end(number, its, its)
    assert told == list(range(1, base + 1))
