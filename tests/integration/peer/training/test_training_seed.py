"""Who draws the seed of a training."""

from __future__ import annotations

from msgspec.structs import replace

from backend.peer.training.training_jobs import training_seed
from tests.support.protocols.secagg.member_host import plan
from tests.support.protocols.secagg.world import masking


def test_in_an_open_round_the_plans_seed_orders_the_examples() -> None:
    assert training_seed(replace(plan(1, masking(), seed=7), masking=None)) == 7


def test_in_a_masked_round_the_peer_draws_it_so_that_a_server_cannot_have_an_update_made_again() -> None:
    drawn = {training_seed(plan(1, masking("active"), seed=7)) for _ in range(20)}
    assert len(drawn) > 18
    assert all(0 <= seed < 2**31 for seed in drawn)
