"""A client of a masked round is killed at any moment: the others' sum is right, or nothing is revealed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from backend.numerics.masking.encoding import Encoding, error
from backend.wire.masked_messages import Reveal
from tests.support.masking.known_update_peers import known_update
from tests.support.masking.masked_task import (
    CLIP,
    LEAST,
    PARAMETERS,
    dying,
    ended,
    first_version,
    serving,
    tokens,
    train,
)
from tests.support.peer.transcript import recorded
from tests.support.timeouts import PATIENCE

# Of five members four recover a secret.
MEMBERS = 5


@pytest.mark.parametrize(
    ("moment", "counts"),
    [
        ("before:keys", False),
        ("after:keys", False),
        ("after:shares", False),
        ("before:offer", False),
        ("before:chunk", False),
        ("before:reveal", True),
    ],
)
async def test_the_sum_is_right_whenever_a_client_is_killed(
    tmp_path: Path, moment: str, counts: bool
) -> None:
    victim, *others = tokens(MEMBERS)
    with serving(tmp_path, MEMBERS) as server, dying(server.url, victim, moment) as process:
        await train(server.url, {name: {} for name in others})
        assert process.wait(PATIENCE) == -9
        found, told = first_version(server), ended(server)
    counted = [victim, *others] if counts else others
    assert (told["outcome"], told["accepted"], told["cohort"]) == ("version", len(counted), MEMBERS)
    mean = np.mean([known_update(name, 1, PARAMETERS, 1.0) for name in counted], axis=0, dtype=np.float64)
    # With fewer members a step is smaller.
    bound = error(Encoding(MEMBERS, PARAMETERS, 1, 32, CLIP, sharers=LEAST), MEMBERS, len(counted))
    assert np.abs(found - mean).max() <= bound.worst + 1e-6


@pytest.mark.parametrize("moment", ["after:keys", "after:shares"])
async def test_where_too_few_are_left_nothing_is_revealed(tmp_path: Path, moment: str) -> None:
    one, other, *others = tokens(MEMBERS)
    with serving(tmp_path, MEMBERS) as server:
        async with recorded(server.url) as transcript:
            with dying(server.url, one, moment), dying(server.url, other, moment):
                trains = asyncio.create_task(train(transcript.url, {name: {} for name in others}))
                told = await asyncio.to_thread(ended, server)
                trains.cancel()
                await asyncio.gather(trains, return_exceptions=True)
        assert server.get("/api/tasks/tiny")["version"] == 0
    assert told["outcome"] == "abandoned"
    assert told["reason"]
    said = [frame for frames in transcript.conversations() for frame in frames]
    assert len(said) > 2 * len(others)
    assert not any(isinstance(frame, Reveal) for frame in said)
