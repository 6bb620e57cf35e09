"""Whole epochs on virtual time: what holds whoever vanishes, lies, stops half-way and comes back."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest

from backend.protocols.units.rules import PaceRules, Rules, SizeRules, TrustRules
from tests.support.ci.schedule_share import by_lane
from tests.support.protocols.units_world import BATCH, EXAMPLES, Crowd, Seen, World, rows_of

RULES = Rules(pace=PaceRules(usual=60.0, least=5.0, most=600.0))
CHECKED = TrustRules(proven=10, spot_checks=0.1)
UNITS, EPOCHS = 150, 3
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "sizes": {"sizes": SizeRules(seconds=12.0, grain=BATCH)},
    "kinds": {"homogeneous": True},
    "bound": {"bound": 3},
    "checks": {"trust": CHECKED},
    "all": {
        "sizes": SizeRules(seconds=12.0, grain=BATCH),
        "homogeneous": True,
        "bound": 5,
        "trust": CHECKED,
    },
}


def check(world: World, seen: Seen) -> None:
    """Nothing is lost or counted twice, nobody is compared with themselves, nobody honest distrusted."""
    visits: dict[int, Counter[int]] = defaultdict(Counter)
    for work in [*seen.blended.values(), *seen.given_up]:
        rows = rows_of(work)
        assert len(rows) == work.counted_rows
        visits[work.shard].update(rows)
    # Each row of each shard is in one unit, or in one part of one, of each epoch.
    assert all(rows == dict.fromkeys(range(EXAMPLES), world.epochs) for rows in visits.values())
    assert len(visits) == world.units
    assert set(seen.credited.values()) == {1}
    assert all(len(set(names)) == len(names) for names in seen.holders.values())
    assert seen.distrusted.keys() <= world.cheats


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", by_lane(6))
def test_every_row_counts_once_whoever_vanishes_and_lies(seed: int, variant: str) -> None:
    peers = 2 if "trust" in VARIANTS[variant] else 0
    crowd = Crowd(clients=random.Random(seed).randint(8, 40), peers=peers)
    world = World(seed, crowd, replace(RULES, **VARIANTS[variant]), UNITS, EPOCHS)
    seen = world.play()
    assert [one.epoch for one in seen.closed] == [1, 2, 3]
    check(world, seen)
    assert len(seen.given_up) <= EPOCHS * UNITS / 20
    assert not seen.lied & seen.credited.keys()
    assert not seen.lies_blended


@pytest.mark.parametrize("seed", range(4))
def test_an_epoch_goes_on_where_it_was_after_a_restart(seed: int) -> None:
    rules = replace(RULES, **VARIANTS["all"])
    world = World(seed, Crowd(clients=20, peers=1), rules, UNITS, EPOCHS)
    seen = world.play(restart_at=UNITS + UNITS // 2)
    check(world, seen)
    assert [one.epoch for one in seen.closed] == [1, 2, 3]


def test_the_same_seed_plays_the_same() -> None:
    runs = [World(5, Crowd(clients=20), RULES, UNITS, EPOCHS) for _ in range(2)]
    played = [world.play() for world in runs]
    assert runs[0].now == runs[1].now
    assert played[0].holders == played[1].holders


def lying(peers: int, **trust: Any) -> tuple[World, Seen]:
    """Plays a crowd in which three in ten lie once they earned trust, each by itself."""
    steady = Crowd(clients=100, peers=peers, vanishing=0.02, late=0.02, stopped=0.0)
    crowd = replace(steady, cheats=0.3, patience=12, lies=0.3, odd=0.0)
    world = World(3, crowd, replace(RULES, trust=replace(CHECKED, **trust)), units=3000, epochs=3)
    return world, world.play()


@pytest.mark.long
def test_strangers_find_lies_but_nobody_loses_trust_by_their_word() -> None:
    world, seen = lying(peers=0)
    check(world, seen)
    assert not seen.distrusted
    assert seen.lies_blended < len(seen.lied) / 2


def test_no_more_lies_get_through_than_chance_allows_and_each_liar_is_caught() -> None:
    world, seen = lying(peers=5, guarded=True)
    check(world, seen)
    # Of each lie it is known how probable it was that somebody else would do the same.
    assert seen.lies_blended < 1.5 * (len(seen.lied) - seen.hazard)
    assert set(seen.distrusted) == world.cheats


@pytest.mark.long
def test_ten_thousand_clients_work_through_an_epoch_with_churn_and_stragglers() -> None:
    crowd = Crowd(clients=10_000, peers=20, pause=60.0, cheats=0.05, odd=0.5)
    world = World(1, crowd, replace(RULES, **VARIANTS["all"]), units=2_000)
    seen = world.play()
    check(world, seen)
    assert len(seen.distrusted) > 50
