"""Masked rounds in groups over real sockets: lost groups, a killed server, and noise in each sum."""

from __future__ import annotations

import asyncio
import math
import signal
from pathlib import Path
from typing import Any

import numpy as np

from backend.protocols.secagg.terms import degree
from backend.wire.masked_messages import Reveal, Shares
from tests.support.attacks.masked_groups import CLIP, LEAST, drawn_groups, grouped_server
from tests.support.masking.known_update_peers import Update, known_update, volunteer
from tests.support.masking.masked_task import MORE, PARAMETERS, first_version, tokens
from tests.support.peer.transcript import Transcript, recorded
from tests.support.timeouts import PATIENCE, eventually
from tests.support.web.server_process import Server

ROUNDING = 1e-5


async def play(url: str, names: list[str], **traits: Any) -> None:
    """Each client sends a known update in each of the task's rounds."""
    sessions = [volunteer(url, name, PARAMETERS, **traits) for name in names]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(one.run(asyncio.Event()) for one in sessions))


def rounds_of(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.get("/api/tasks/tiny/rounds?last=50")["rounds"]
    return found


def middle(groups: list[list[str]], number: int = 1) -> Update:
    """The median of the means of groups of known updates."""
    means = [
        np.mean([known_update(one, number, PARAMETERS, 1.0) for one in group], axis=0) for group in groups
    ]
    found: Update = np.median(means, axis=0).astype(np.float32)
    return found


async def test_a_group_that_loses_a_member_is_left_out_and_the_version_is_of_the_others(
    tmp_path: Path,
) -> None:
    """Of a group of three nobody may be missing."""
    names = tokens(12)
    with grouped_server(tmp_path, 12, 4, "median", 1, more=MORE, grace=1) as server:
        async with recorded(server.url) as transcript:
            gone = asyncio.create_task(play(transcript.url, names[:1], endless=True))
            others = asyncio.create_task(play(server.url, names[1:]))
            await said(transcript, Shares)
            gone.cancel()
            await others
        (record,) = rounds_of(server)
        step = first_version(server)
    groups = drawn_groups(tmp_path / "data", names, 4)
    whole = [group for group in groups if names[0] not in group]
    assert (record["outcome"], record["groups"], record["groups_used"]) == ("version", 4, 3)
    np.testing.assert_allclose(step, middle(whole), atol=ROUNDING)


async def test_too_few_groups_end_the_round_with_the_numbers(tmp_path: Path) -> None:
    names = tokens(12)
    with grouped_server(tmp_path, 12, 4, "median", 1, more=MORE, grace=1) as server:
        first, second, *_ = drawn_groups(tmp_path / "data", names, 4)
        leaving = [first[0], second[0]]
        async with recorded(server.url) as transcript:
            gone = asyncio.create_task(play(transcript.url, leaving, endless=True))
            others = asyncio.create_task(play(server.url, [name for name in names if name not in leaving]))
            await said(transcript, Shares, len(leaving))
            gone.cancel()
            await asyncio.to_thread(eventually, lambda: bool(rounds_of(server)), "no round ended")
            records = rounds_of(server)
            others.cancel()
    assert records[0]["outcome"] == "abandoned"
    assert records[0]["reason"].startswith("2 of 4 masked groups are left, and the rule needs at least 3.")


async def test_a_killed_server_draws_the_same_groups_again_and_the_task_goes_on(tmp_path: Path) -> None:
    """The server is killed when most clients revealed their shares of the first round, and it has not all."""
    names, killed = tokens(9), asyncio.Event()

    def kill(transcript: Transcript) -> None:
        if not killed.is_set() and transcript.senders(Reveal) > len(names) // 2:
            server.stop(signal.SIGKILL)
            killed.set()

    with grouped_server(tmp_path, 9, 3, "median", 1, more=MORE, rounds=3) as server:
        port = server.url.rpartition(":")[2]
        async with recorded(server.url, before=kill) as transcript:
            trains = asyncio.create_task(play(transcript.url, names))
            async with asyncio.timeout(PATIENCE):
                await killed.wait()
            with grouped_server(tmp_path, 9, 3, "median", 1, more=MORE, port=port, rounds=3) as again:
                await trains
                records, versions = rounds_of(again), again.get("/api/tasks/tiny/versions")["versions"]
    made = [one for one in records if one["accepted"] and one["outcome"] == "version"]
    assert [(one["groups"], one["groups_used"]) for one in made] == [(3, 3)] * 3
    assert versions[-1]["version"] >= 3


async def test_each_groups_sum_has_the_noise_of_a_cohort(tmp_path: Path) -> None:
    """The rule runs over sums that are noised already: what it makes of them costs no more privacy."""
    # Groups of as many as they need at least: larger ones go on without a slow member.
    noise, clients, groups = 1.5, 9, 3
    names = tokens(clients)
    with grouped_server(tmp_path, clients, groups, "median", 1, more=MORE, noise=noise) as server:
        await play(server.url, names, norm=10.0)
        step, task = first_version(server), server.get("/api/tasks/tiny")
    drawn = drawn_groups(tmp_path / "data", names, groups)
    clipped = {name: known_update(name, 1, PARAMETERS, CLIP) for name in names}
    size = clients // groups
    sharers = max(LEAST, degree(size, "honest").threshold)
    deviation = CLIP * noise * math.sqrt(size / sharers) / size
    honest = np.median([np.mean([clipped[one] for one in group], axis=0) for group in drawn], axis=0)
    # The median of three normal values has 0.67 of their deviation (Arnold et al. 2008, section 4.9).
    np.testing.assert_allclose(np.std(step - honest), 0.6698 * deviation, rtol=0.1)
    assert task["privacy"]["mechanism"] == "distributed"
    assert task["privacy"]["epsilon"] > 0.0


async def said(transcript: Transcript, kind: type[Shares], clients: int = 1) -> None:
    """Waits until so many `clients` sent a frame of a kind."""
    reached = f"too few sent {kind.__name__}"
    await asyncio.to_thread(eventually, lambda: transcript.senders(kind) >= clients, reached)
