"""A server promises how updates are masked, and then weakens it by a plan.

The plan says fewer clients, no signatures, or another clip. In `distributed` more clients weaken it, too:
each adds a share of the noise for as many as have to remain.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from backend.protocols.client.privacy_promise import noise_of_clients
from backend.protocols.secagg.terms import degree
from backend.wire import messages
from backend.wire.masked_messages import MOST_MEMBERS
from tests.support.attacks.lying_rounds_server import MASKING, plan_of
from tests.support.attacks.plain_server import CLIP, SHARED, PlainServer, left, welcome

ACTIVE = messages.AggregationTerms(clip=CLIP, min_clients=8, server="active")
HONEST = replace(ACTIVE, server="honest")
LEFT = "protects updates less than it promised when this client joined"


def plan(**changes: Any) -> messages.Train:
    masking = {"clip": CLIP, "min_clients": 8, "server": "active", **changes}
    return replace(plan_of(1, 0), masking=replace(MASKING, **masking))


def keys(server: PlainServer) -> bool:
    """Whether a client took part in a masked round."""
    return any(isinstance(frame, messages.Keys | messages.Offer) for frame in server.heard)


@pytest.mark.parametrize("changes", [{"min_clients": 3}, {"server": "honest"}, {"clip": 1e9}])
async def test_no_update_is_masked_by_weaker_terms(tmp_path: Path, changes: dict[str, Any]) -> None:
    server = PlainServer([welcome(None, "masked", ACTIVE)], [plan(**changes)])
    assert LEFT in await left(server, tmp_path)
    assert not keys(server)


@pytest.mark.parametrize(
    "terms",
    [replace(ACTIVE, min_clients=3), HONEST, replace(ACTIVE, clip=1e9)],
    ids=["few", "honest", "clip"],
)
async def test_a_broken_connection_does_not_weaken_the_masks(
    tmp_path: Path, terms: messages.AggregationTerms
) -> None:
    server = PlainServer([welcome(None, "masked", ACTIVE), welcome(None, "masked", terms)], [])
    assert LEFT in await left(server, tmp_path)


async def test_a_masked_welcome_without_terms_is_refused(tmp_path: Path) -> None:
    server = PlainServer([replace(welcome(None, "masked"), masking=None)], [plan()])
    assert "in terms that protect nothing" in await left(server, tmp_path)


async def test_a_share_of_the_noise_is_not_thinned_out_among_more_clients(tmp_path: Path) -> None:
    thin = plan(noise=SHARED.noise, server="honest", min_clients=2048)
    server = PlainServer([welcome(SHARED, "masked", HONEST)], [thin])
    assert LEFT in await left(server, tmp_path)
    assert not keys(server)


async def test_who_asks_for_noise_counts_on_the_own_share_alone(tmp_path: Path) -> None:
    server = PlainServer([welcome(SHARED, "masked", HONEST)], [])
    assert "less noise to what they send than you ask for" in await left(server, tmp_path, SHARED.noise)


@pytest.mark.parametrize(("terms", "most"), [(HONEST, MOST_MEMBERS), (ACTIVE, 256)], ids=["honest", "active"])
def test_the_own_share_is_what_a_client_adds_in_a_round_of_any_size(
    terms: messages.AggregationTerms, most: int
) -> None:
    own = noise_of_clients(SHARED, terms)
    sharers = [max(terms.min_clients, degree(size, terms.server).threshold) for size in range(8, most + 1)]
    assert own == pytest.approx(min(SHARED.noise / number**0.5 for number in sharers))
