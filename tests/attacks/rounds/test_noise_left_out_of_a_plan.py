"""A server promises that clients add noise, and then leaves the noise out of their plans.

The clients' own noise is the part of differential privacy that needs no trust in the server, and the plan
says how much of it a client adds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.wire import messages
from tests.support.attacks.lying_rounds_server import MASKING, plan_of
from tests.support.attacks.plain_server import CLIP, LOCAL, NOISY, SHARED, PlainServer, left, welcome


@pytest.mark.parametrize(
    "second",
    [
        None,
        replace(NOISY, noise=0.0),
        replace(NOISY, clip=0.0),
        replace(NOISY, clip=1e6),
        replace(NOISY, noise=float("nan")),
    ],
    ids=["no privacy", "no noise", "no clip", "a huge clip", "noise that is no number"],
)
async def test_an_update_without_its_noise_is_not_sent(
    tmp_path: Path, second: messages.Privacy | None
) -> None:
    plans = [
        replace(plan_of(number, number - 1), masking=None, privacy=privacy)
        for number, privacy in ((1, NOISY), (2, second))
    ]
    server = PlainServer([welcome(LOCAL)], plans)
    assert "less than it promised" in await left(server, tmp_path)
    (noised,) = server.updates
    # Noise of 2 x 4 on each of 40 values; an update alone has the norm 1.
    assert np.linalg.norm(np.frombuffer(noised, "<f4")) > 10.0


async def test_an_update_without_its_share_of_the_noise_is_not_masked(tmp_path: Path) -> None:
    bare = replace(plan_of(1, 0), masking=replace(MASKING, noise=0.0, clip=CLIP))
    server = PlainServer([welcome(SHARED, "masked")], [bare])
    assert "less than it promised" in await left(server, tmp_path)
    assert not any(isinstance(frame, messages.Keys | messages.Offer) for frame in server.heard)


@pytest.mark.parametrize("terms", [None, replace(LOCAL, noise=0.5), replace(LOCAL, mechanism="central")])
async def test_a_broken_connection_does_not_change_the_terms(
    tmp_path: Path, terms: messages.PrivacyTerms | None
) -> None:
    plan = replace(plan_of(1, 0), masking=None, privacy=None)
    server = PlainServer([welcome(LOCAL), welcome(terms)], [plan])
    assert "than it promised when this client joined" in await left(server, tmp_path)
    assert server.updates == []


@pytest.mark.parametrize("terms", [None, replace(LOCAL, noise=0.5), replace(LOCAL, mechanism="central")])
async def test_who_asks_for_noise_takes_part_in_no_task_with_less(
    tmp_path: Path, terms: messages.PrivacyTerms | None
) -> None:
    plan = replace(plan_of(1, 0), masking=None, privacy=NOISY)
    server = PlainServer([welcome(terms)], [plan])
    assert "less noise to what they send than you ask for" in await left(server, tmp_path, min_noise=1.0)
    assert server.updates == []
