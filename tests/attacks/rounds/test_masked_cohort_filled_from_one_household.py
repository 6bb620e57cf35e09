"""A participant who joins under many names from one network fills the masked cohort around a victim.

The server is honest. Names cost nothing; addresses in other networks do.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.support.attacks.masked_server import SEATS, cohort, join, masked_server

NAMES = 60
# Ten honest clients are enough for a round of ten.
PLAN = {
    "min_available_clients": SEATS,
    "fraction_train": 0.15,
    "min_train_clients": SEATS,
    "quorum": SEATS,
}


@pytest.mark.parametrize("network", ["203.0.113.{}", "2001:db8:7:{}::1", "::ffff:203.0.113.{}", "unknown"])
async def test_names_of_one_network_get_few_seats_of_a_masked_cohort(tmp_path: Path, network: str) -> None:
    with masked_server(tmp_path, PLAN) as server:
        async with AsyncExitStack() as stack:
            liars = [await join(stack, server, network.format(number)) for number in range(NAMES)]
            honest = [await join(stack, server, f"198.51.{number}.1") for number in range(SEATS)]
            seats = await cohort([*liars, *honest])
            assert len(seats) == SEATS
            assert sum(liar.id in seats for liar in liars) <= SEATS // 4
