"""Colluders among strangers whose results count before they are proven (decision 0074)."""

from __future__ import annotations

import pytest

from backend.protocols.client.client_kind import kind_of
from backend.protocols.units.rules import PaceRules, Rules, TrustRules
from backend.server.units.work_generator import PROVISIONAL_CAUTION
from tests.support.protocols.colluders_world import ColludersWorld, Collusion
from tests.support.protocols.units_world import Crowd, Seen

EXACT = kind_of("peer", "exact", "5e" * 32)
TACTICS = (
    Collusion(15, False, "blatant", kind=EXACT),
    Collusion(15, False, "pairs", kind=EXACT),
    Collusion(15, False, "framers", kind=EXACT),
    Collusion(15, False, "sleepers", kind=EXACT),
    Collusion(15, False, "names", kind=EXACT),
    Collusion(15, True, "names", kind=EXACT),
)


def played(collusion: Collusion, most: int = 1000) -> tuple[ColludersWorld, Seen]:
    """Two epochs among 40 honest clients and one trusted peer that repeats one result in fifty."""
    trust = TrustRules(spot_checks=0.02, caution=PROVISIONAL_CAUTION, guarded=True, provisional=most)
    rules = Rules(pace=PaceRules(usual=60.0, least=5.0, most=600.0), trust=trust)
    crowd = Crowd(40, peers=1, cheats=0.0, vanishing=0.05, late=0.05)
    world = ColludersWorld(1, crowd, collusion, rules, units=400, epochs=2)
    return world, world.play()


@pytest.mark.parametrize("collusion", TACTICS, ids=lambda one: f"{one.tactic} {one.one_household}")
def test_no_lie_stays_in_the_model_and_nobody_honest_is_distrusted(collusion: Collusion) -> None:
    world, seen = played(collusion)
    assert seen.lied
    assert seen.lies_blended == 0
    assert not seen.distrusted.keys() - world.colluders
    assert len(seen.closed) == 2


def test_who_has_no_room_is_compared_as_anybody_else_was() -> None:
    # There is room for ten clients. All results of the others are repeated, and count if two agree.
    world, seen = played(Collusion(15, False, "sleepers", kind=EXACT), most=10)
    assert len(seen.provisional) <= 10
    assert seen.lies_blended < 0.02 * len(seen.blended)
    assert not seen.distrusted.keys() - world.colluders


def test_lies_now_and_then_are_only_found_by_chance() -> None:
    # One result in a hundred: this is what cannot be had without repeating each result.
    world, seen = played(Collusion(15, False, "seldom", kind=EXACT))
    assert seen.lies_blended < 0.01 * len(seen.blended)
    assert not seen.distrusted.keys() - world.colluders
