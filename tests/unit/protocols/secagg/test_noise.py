"""Noise of which each member adds a share: whoever leaves when, a sum has as much of it as was claimed."""

from __future__ import annotations

import math
import os
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.crypto.keystream import Words, keystream
from backend.numerics.masking.encoding import Encoding, encode, private_contribution
from backend.numerics.privacy.skellam import Skellam
from backend.protocols.secagg.terms import degree
from tests.support.protocols.secagg.dropouts import LEAST, PHASES, Losses, play, predicted
from tests.support.protocols.secagg.world import World, masking

MEMBERS, VALUES = 10, 20_000
CLIP, NOISE = 2.0, 1.5
# An estimate of a standard deviation from so many values is off by this much less than once in 10^8 times.
ROOM = 6 / math.sqrt(2 * VALUES)


@cache
def share_of(variance: float) -> Skellam:
    """Its table takes a while."""
    return Skellam(variance)


def encoding(members: int) -> Encoding:
    """How the members of such a roster tell updates, and add their shares."""
    sharers = max(LEAST, degree(members, "honest").threshold)
    return Encoding(members, VALUES, 0, 32, CLIP, NOISE, sharers)


def noised(chosen: Encoding, update: NDArray[np.float32]) -> Words:
    """What a client adds to the sum: its update, rounded, and its share of the noise."""
    words = keystream(os.urandom(32), chosen.words)
    encode(chosen, private_contribution(update, 0), words)
    share = share_of(chosen.share_variance).draw(keystream(os.urandom(32), 2 * VALUES))
    return words[:VALUES] + share.view(np.uint32)


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("lost", range(MEMBERS + 1))
def test_a_sum_has_the_claimed_noise_and_no_more_than_all_shares_make(phase: str, lost: int) -> None:
    losses = Losses(**{phase: lost})
    members = MEMBERS - losses.before_keys
    world = World(MEMBERS, masking("honest", LEAST), values=VALUES)
    random = np.random.default_rng(lost)
    updates = {client: random.normal(size=VALUES).astype(np.float32) for client in world.holders}
    if members >= LEAST:
        for client, holder in world.holders.items():
            updates[client] *= np.float32(CLIP / np.linalg.norm(updates[client]) * 0.999)
            holder.update = noised(encoding(members), updates[client])
    play(world, losses)
    world.check()
    survivors = predicted(MEMBERS, losses)
    assert (world.sum is None) == (survivors is None)
    if world.sum is None or survivors is None:
        return
    chosen = encoding(members)
    plain = np.sum([updates[client] for client in world.taken], axis=0, dtype=np.float64)
    noise = (world.sum.view(np.int32) * chosen.step - plain) / CLIP
    assert survivors == len(world.taken) >= chosen.sharers
    assert NOISE * (1 - ROOM) < noise.std() < NOISE * math.sqrt(members / chosen.sharers) * (1 + ROOM)
    # It is that of those who are in the sum, to the last share.
    assert abs(noise.std() / (NOISE * math.sqrt(survivors / chosen.sharers)) - 1.0) < ROOM
    assert abs(noise.mean()) < 6 * noise.std() / math.sqrt(VALUES)
