"""Networks bring names that lie once and are thrown away, while names that are vouched for confirm them."""

from __future__ import annotations

import pytest

from backend.protocols.units.rules import PaceRules, Rules, TrustRules
from backend.server.units.work_generator import GUARDED_CAUTION
from tests.support.protocols.colluders_world import ColludersWorld, Collusion
from tests.support.protocols.units_world import Crowd

RULES = Rules(
    pace=PaceRules(usual=60.0, least=5.0, most=600.0),
    trust=TrustRules(spot_checks=0.02, caution=GUARDED_CAUTION, guarded=True),
)


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.long), 2])
def test_ten_networks_of_new_names_get_few_lies_past_a_trusted_peer(seed: int) -> None:
    crowd = Crowd(100, peers=1, cheats=0.0, vanishing=0.05, late=0.05)
    world = ColludersWorld(seed, crowd, Collusion(10, False, "names"), RULES, units=1500, epochs=2)
    seen = world.play()
    assert len(seen.lied) > 40
    assert seen.lies_blended <= 0.01 * len(seen.blended)
    assert not seen.distrusted.keys() - world.colluders
    # The networks are found out after few of their names.
    households = [world.household_of(one) for one in world.tokens]
    assert all(world.scheduler.is_suspended(one, world.now) for one in households)
