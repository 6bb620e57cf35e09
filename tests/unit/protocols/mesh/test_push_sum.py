from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.numerics.vectors import Vector64
from backend.protocols.mesh.push_sum import (
    Confirm,
    DropPush,
    Effect,
    Push,
    PushAgain,
    PushSum,
    Settle,
    TakeBack,
    TakeIn,
    turns_for,
)


@dataclass
class Peer:
    """A host: it has the sum, and copies of what it pushed."""

    machine: PushSum
    sum: Vector64
    copies: dict[int, Vector64] = field(default_factory=dict)
    settled: bool = False

    @property
    def estimate(self) -> Vector64:
        return self.sum / self.machine.weight


class World:
    """Peers on virtual time; a message is lost with a chance of `loss`, and with it the link for a turn."""

    def __init__(self, seed: int, count: int, turns: int, loss: float = 0.0) -> None:
        self.lots = random.Random(seed)
        self.loss = loss
        names = [f"{place:016x}" for place in range(count)]
        draw = np.random.default_rng(seed)
        self.vectors = draw.normal(0, 1, (count, 5))
        self.weights = draw.integers(1, 100, count).astype(float)
        self.peers = {
            name: Peer(
                PushSum(name, place, self.weights[place], seed, turns, 1.0, 1.0),
                self.vectors[place] * self.weights[place],
            )
            for place, name in enumerate(names)
        }
        self.down: list[tuple[str, str]] = []
        for name in names:
            self.link(name, [other for other in names if other != name])

    @property
    def mean(self) -> Vector64:
        mean: Vector64 = np.average(self.vectors, axis=0, weights=self.weights)
        return mean

    def link(self, name: str, others: list[str]) -> None:
        for other in others:
            self.perform(name, self.peers[name].machine.linked(other))

    def run(self, turns: int) -> None:
        for now in range(1, turns + 1):
            down, self.down = self.down, []
            for one, other in down:
                if one in self.peers and other in self.peers:
                    self.link(one, [other])
            for name in list(self.peers):
                self.perform(name, self.peers[name].machine.time_passed(float(now)))

    def arrives(self, one: str, other: str) -> bool:
        if other not in self.peers:
            return False
        if self.lots.random() >= self.loss:
            return True
        self.peers[one].machine.lost(other)
        self.down.append((one, other))
        return False

    def perform(self, name: str, effects: list[Effect]) -> None:
        peer = self.peers[name]
        for effect in effects:
            match effect:
                case Push(to, turn, weight):
                    peer.sum /= 2
                    peer.copies[turn] = peer.sum.copy()
                    self.carry(name, to, turn, weight)
                case PushAgain(to, turn, weight):
                    self.carry(name, to, turn, weight)
                case DropPush(turn):
                    del peer.copies[turn]
                case TakeBack(turn):
                    peer.sum += peer.copies.pop(turn)
                case Confirm(to, turn):
                    if self.arrives(name, to):
                        self.perform(to, self.peers[to].machine.confirmed(name, turn))
                    else:  # Whom it does not reach asks again.
                        self.down.append((to, name))
                case Settle():
                    peer.settled = True
                case TakeIn(of, turn):
                    peer.sum += self.peers[of].copies[turn]

    def carry(self, name: str, to: str, turn: int, weight: float) -> None:
        if self.arrives(name, to):
            self.perform(to, self.peers[to].machine.came(name, turn, weight))


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 40))
def test_all_come_near_the_weighted_mean_of_all(seed: int, count: int) -> None:
    turns = turns_for(count, 1e-4)
    world = World(seed, count, turns)
    world.run(turns)
    for peer in world.peers.values():
        assert peer.settled
        assert peer.machine.timer() is None
        assert np.abs(peer.estimate - world.mean).max() < 0.05


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), count=st.integers(2, 12))
def test_nothing_is_lost_or_doubled_on_links_that_break(seed: int, count: int) -> None:
    turns = turns_for(count, 1e-6)
    world = World(seed, count, turns, loss=0.3)
    world.run(turns)
    world.loss = 0.0
    world.run(5)
    assert sum(peer.machine.weight for peer in world.peers.values()) == pytest.approx(world.weights.sum())
    total = np.sum([peer.sum for peer in world.peers.values()], axis=0)
    assert total == pytest.approx(world.vectors.T @ world.weights)
    assert not any(peer.copies for peer in world.peers.values())


def test_who_is_gone_takes_only_what_it_had_along() -> None:
    one, other = "a" * 16, "b" * 16
    machine = PushSum(one, 0, 8.0, 1, 10, 1.0, 1.0)
    machine.linked(other)
    [push] = machine.time_passed(1.0)
    assert push == Push(other, 0, 4.0)
    assert machine.confirmed(other, 0) == [DropPush(0)]
    assert machine.time_passed(2.0) == [Push(other, 1, 2.0)]
    assert machine.gone(other) == [TakeBack(1)]
    assert machine.weight == 4.0
    assert machine.time_passed(3.0) == []
    assert machine.confirmed(other, 1) == []


def test_a_push_that_comes_twice_counts_once() -> None:
    machine = PushSum("a" * 16, 0, 8.0, 1, 10, 1.0, 1.0)
    other = "b" * 16
    assert machine.came(other, 3, 2.0) == [TakeIn(other, 3), Confirm(other, 3)]
    assert machine.came(other, 3, 2.0) == [Confirm(other, 3)]
    assert machine.weight == 10.0


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_changes_nothing(weight: float) -> None:
    machine = PushSum("a" * 16, 0, 8.0, 1, 10, 1.0, 1.0)
    assert machine.came("b" * 16, 0, weight) == []
    assert machine.weight == 8.0


def test_it_says_when_its_next_turn_is_due() -> None:
    machine = PushSum("a" * 16, 0, 1.0, 1, 2, 0.5, 10.0)
    machine.linked("b" * 16)
    assert machine.timer() == 10.0
    assert machine.time_passed(9.9) == []
    assert len(machine.time_passed(10.0)) == 1
    assert machine.timer() == 10.5
    assert machine.time_passed(11.0)[-1] == Settle(0.25)
    assert machine.timer() is None
