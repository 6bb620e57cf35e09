"""Accomplices tell a program that nobody else has, to be drawn for each other's units."""

from __future__ import annotations

import pytest

from backend.protocols.client.client_kind import kind_of
from backend.protocols.units.rules import PaceRules, Rules, TrustRules
from backend.server.units.work_generator import GUARDED_CAUTION
from tests.support.protocols.colluders_world import ColludersWorld, Collusion, Tactic
from tests.support.protocols.units_world import Crowd

RULES = Rules(
    pace=PaceRules(usual=60.0, least=5.0, most=600.0),
    trust=TrustRules(spot_checks=0.02, caution=GUARDED_CAUTION, guarded=True),
)
OWN_PROGRAM = kind_of("peer", "exact", "66" * 32)


# A single world has from 3 to 9 % of lies by the second tactic.
SEEDS = (1, 2, 3, 4)


@pytest.mark.parametrize(
    ("tactic", "most"), [("sleepers", 0.02), pytest.param("names", 0.06, marks=pytest.mark.long)]
)
def test_a_program_of_their_own_does_not_draw_accomplices_for_each_other(tactic: Tactic, most: float) -> None:
    crowd = Crowd(100, peers=1, cheats=0.0, vanishing=0.05, late=0.05)
    collusion = Collusion(20, False, tactic, kind=OWN_PROGRAM)
    lies = results = 0
    for seed in SEEDS:
        world = ColludersWorld(seed, crowd, collusion, RULES, units=1000, epochs=2)
        seen = world.play()
        assert len(seen.lied) > 50
        assert not seen.distrusted.keys() - world.colluders
        lies += seen.lies_blended
        results += len(seen.blended)
    assert lies <= most * results
