"""Participants who fill a masked cohort around a victim subtract their own updates and read the victim's.

The server is honest. They know all that its pages and frames say, and may try as many tokens as they like
before they join.
"""

from __future__ import annotations

import heapq
import secrets
from contextlib import AsyncExitStack
from hashlib import blake2b
from pathlib import Path

from backend.wire.client_id import client_id
from tests.support.attacks.masked_server import CROWD, SEATS, cohort, join, masked_server

LIARS, TRIES = 9, 40_000


async def test_tokens_chosen_for_their_ids_get_no_more_seats_than_others(tmp_path: Path) -> None:
    with masked_server(tmp_path) as server:
        async with AsyncExitStack() as stack:
            honest = [await join(stack, server, f"198.51.{number}.1") for number in range(CROWD - LIARS)]
            chosen = _winning_tokens(honest[0].welcome.bundle)
            liars = [
                await join(stack, server, f"203.0.{number}.1", token) for number, token in enumerate(chosen)
            ]
            seats = await cohort([*honest, *liars])
            assert len(seats) == SEATS
            # By chance nine of forty get 2.25 of ten seats; seven or more once in 50,000 rounds.
            assert sum(liar.id in seats for liar in liars) < 7


def _winning_tokens(bundle: str) -> list[str]:
    """Returns tokens whose ids come first in the first round's lots, as far as public values decide them."""
    seed = int(bundle[:8], 16)

    def lot(token: str) -> bytes:
        return blake2b(f"{seed}/train/1/{client_id(token)}".encode(), digest_size=8).digest()

    return heapq.nsmallest(LIARS, (secrets.token_urlsafe(24) for _ in range(TRIES)), key=lot)
