"""Rounds with a robust rule over real sockets: updates on disk, a kill in the middle, and too few updates."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import numpy as np

from backend.wire.messages import Abandoned, Accepted, Leave, Version
from tests.support.attacks.robust_rounds import cohort, moved, robust_server
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import eventually
from tests.support.web.server_process import Server

# One update is longer than the MiB that a task may keep in memory at least.
LARGE = 300_000
TRIMMED = 'rule = "trimmed-mean"\nattackers = 1\nmemory = 1'
VALUES = (0.01, 0.02, 0.04, 0.05, -0.09)


def spool_files(server: Server, data: Path) -> list[Path]:
    """Files in the scratch folder that the server has open; they have no name any more."""
    scratch, found = str(data / "scratch"), []
    for descriptor in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            target = descriptor.readlink()
        except OSError:
            continue  # Closed meanwhile.
        if str(target).startswith(scratch):
            found.append(target)
    return found


def updates() -> list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    return [np.full(LARGE, value, np.float32) for value in VALUES]


async def test_updates_beyond_the_memory_are_aggregated_from_a_file_that_goes_with_the_round(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with robust_server(tmp_path, 5, TRIMMED, more=LARGE - SIZE, zeros=True) as server:
        step = await moved(server, updates())
        np.testing.assert_allclose(step, (0.01 + 0.02 + 0.04) / 3, rtol=1e-5)
        assert not spool_files(server, data)


async def test_a_server_killed_in_the_middle_of_a_round_leaves_no_update_behind(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with robust_server(tmp_path, 5, TRIMMED, more=LARGE - SIZE, zeros=True) as server:
        async with cohort(server, 5) as members:
            for (client, plan), update in zip(members[:2], updates(), strict=False):
                assert isinstance(await client.deliver(plan, update), Accepted)
            await asyncio.to_thread(eventually, lambda: bool(spool_files(server, data)), "there is no file")
            server.stop(signal.SIGKILL)
        assert not list((data / "scratch").iterdir())
        server.start()
        assert server.get("/api/tasks/tiny")["version"] == 0
        step = await moved(server, updates())
        np.testing.assert_allclose(step, (0.01 + 0.02 + 0.04) / 3, rtol=1e-5)


async def test_a_round_with_too_few_updates_for_the_rule_is_abandoned_and_frees_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with robust_server(tmp_path, 5, TRIMMED.replace("1", "2", 1), more=LARGE - SIZE, zeros=True) as server:
        async with cohort(server, 5) as members:
            for (client, plan), update in zip(members[:4], updates(), strict=False):
                assert isinstance(await client.deliver(plan, update), Accepted)
            await members[4][0].say(Leave())
            abandoned = await members[0][0].next(Abandoned)
            assert abandoned.reason == "4 of at least 5 updates arrived in time."
            await asyncio.to_thread(eventually, lambda: not spool_files(server, data), "the file stays")
        rounds = "/api/tasks/tiny/rounds"
        await asyncio.to_thread(eventually, lambda: bool(server.get(rounds)["rounds"]), "no record")
        (recorded,) = server.get(rounds)["rounds"]
        assert (recorded["outcome"], recorded["reason"]) == ("abandoned", abandoned.reason)


async def test_the_next_round_has_a_mean_of_its_own(tmp_path: Path) -> None:
    with robust_server(tmp_path, 5, 'rule = "median"\nattackers = 2') as server:
        async with cohort(server, 5) as members:
            for (client, plan), value in zip(members, VALUES, strict=True):
                await client.deliver(plan, np.full(SIZE, value, np.float32))
            await members[0][0].next(Version)
            plans = await asyncio.gather(*(client.selected() for client, _ in members))
            for (client, _), plan in zip(members, plans, strict=True):
                await client.deliver(plan, np.full(SIZE, 1.0, np.float32))
            assert (await members[0][0].next(Version)).version == 2
