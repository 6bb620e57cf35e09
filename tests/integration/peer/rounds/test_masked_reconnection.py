"""Members of masked rounds whose connection breaks, or whose server is killed, go on where they were."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from backend.numerics.masking.encoding import Encoding, error
from backend.wire.masked_messages import Keys, Shares
from backend.wire.messages import ClientFrame, Offer
from tests.support.masking.known_update_peers import known_update
from tests.support.masking.masked_task import (
    CLIENTS,
    CLIP,
    LEAST,
    PARAMETERS,
    first_version,
    serving,
    tokens,
    train,
)
from tests.support.peer.transcript import recorded
from tests.support.web.server_process import Server


@pytest.mark.parametrize("kind", [Keys, Shares, Offer])
async def test_a_member_whose_connection_breaks_is_in_the_sum(
    tmp_path: Path, kind: type[ClientFrame]
) -> None:
    names = tokens()
    with serving(tmp_path) as server:
        async with recorded(server.url, cut=kind) as transcript:
            await train(transcript.url, {name: {} for name in names})
        (told,) = server.get("/api/tasks/tiny/rounds")["rounds"]
        found = first_version(server)
    hellos = sum(len(frames) > 0 for frames in transcript.conversations())
    assert (told["accepted"], told["refused"], hellos) == (CLIENTS, 0, CLIENTS + 1)
    mean = np.mean([known_update(name, 1, PARAMETERS, 1.0) for name in names], axis=0, dtype=np.float64)
    bound = error(Encoding(CLIENTS, PARAMETERS, 1, 32, CLIP, sharers=LEAST), CLIENTS, CLIENTS)
    assert np.abs(found - mean).max() <= bound.worst + 1e-6


def reached(server: Server, version: int) -> int:
    """The newest version, as soon as there is `version`."""
    while (newest := int(server.get("/api/tasks/tiny")["version"])) < version:
        time.sleep(0.02)
    return newest


async def test_a_killed_server_loses_the_open_round_and_one_of_spent_updates(tmp_path: Path) -> None:
    rounds = 12
    with serving(tmp_path, rounds=rounds) as server:
        trains = asyncio.create_task(train(server.url, {name: {} for name in tokens()}))
        before = await asyncio.to_thread(reached, server, 2)
        server.stop(signal.SIGKILL)
        with serving(tmp_path, rounds=rounds, port=server.url.rpartition(":")[2]) as again:
            assert again.report["tasks"][0]["version"] >= before
            await trains
            told = again.get("/api/tasks/tiny/rounds?last=100")["rounds"]
    summed = [one for one in told if one["accepted"]]
    repeated = [one for one in told if one["outcome"] == "version" and not one["accepted"]]
    abandoned = [one for one in told if one["outcome"] == "abandoned"]
    assert len(summed) == rounds
    # Clients that had revealed shares decline the next round of that version, which fails, too. A version
    # without members then repeats it, so that they have one for which they have revealed none.
    assert len(repeated) <= 1
    assert len(abandoned) <= 2
