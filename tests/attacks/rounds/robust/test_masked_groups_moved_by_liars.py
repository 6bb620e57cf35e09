"""Liars in a masked round, whose updates nobody sees: their groups' sums lie, and a rule bears so many.

Masks alone hide a lie: the mean of one masked round follows three of 21 clients. In groups by lot they spoil
three means of seven at most, wherever they are.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.crypto.round_context import Terms
from backend.formats.task_file.robust import RuleName
from tests.support.attacks.masked_groups import CLIP, LEAST, drawn_groups, grouped_server
from tests.support.masking.known_update_peers import Update, volunteer
from tests.support.masking.masked_task import first_version, tokens
from tests.support.masking.server_attacks import likeness, received, without_own_masks
from tests.support.peer.transcript import Transcript, recorded
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server

MORE = 1000
PARAMETERS = SIZE + MORE
CLIENTS, GROUPS, LIARS = 21, 7, 3
# A random vector of as many values is less like any other than this, but for one in 10^9.
CHANCE = 0.2
RANDOM = np.random.default_rng(5)
TRUTH = RANDOM.normal(0.0, 0.02, PARAMETERS)
# What rounding adds to a value of a mean of three, many times over.
ROUNDING = 1e-5


def honest() -> Update:
    return (TRUTH + RANDOM.normal(0.0, 0.01, PARAMETERS)).astype(np.float32)


def flipped() -> Update:
    """As long as a client may be, in the opposite direction."""
    return (-CLIP * TRUTH / np.linalg.norm(TRUTH)).astype(np.float32)


async def play(url: str, updates: dict[str, Update]) -> None:
    """Each client, by its token, sends its update in the task's only round."""
    sessions = [volunteer(url, token, PARAMETERS, update=update) for token, update in updates.items()]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(one.run(asyncio.Event()) for one in sessions))


def lying(names: list[str], liars: int = LIARS) -> dict[str, Update]:
    return {name: flipped() if number < liars else honest() for number, name in enumerate(names)}


def means(groups: list[list[str]], updates: dict[str, Update]) -> NDArray[np.float64]:
    return np.array(
        [np.mean([updates[name] for name in group], axis=0, dtype=np.float64) for group in groups]
    )


def kept(server: Server) -> dict[str, Any]:
    (recorded_round,) = server.get("/api/tasks/tiny/rounds")["rounds"]
    found: dict[str, Any] = recorded_round
    return found


@pytest.mark.parametrize("rule", ["trimmed-mean", "median"])
async def test_a_version_stays_among_the_means_of_the_honest_groups(tmp_path: Path, rule: RuleName) -> None:
    updates = lying(tokens(CLIENTS))
    with grouped_server(tmp_path, CLIENTS, GROUPS, rule, LIARS, more=MORE) as server:
        await play(server.url, updates)
        step, record = first_version(server).astype(np.float64), kept(server)
    groups = drawn_groups(tmp_path / "data", updates, GROUPS)
    liars = set(list(updates)[:LIARS])
    clean = means([group for group in groups if liars.isdisjoint(group)], updates)
    assert len(clean) >= GROUPS - LIARS
    assert (step <= clean.max(axis=0) + ROUNDING).all()
    assert (step >= clean.min(axis=0) - ROUNDING).all()
    # It goes where the honest ones go, and the mean of all does not.
    assert np.corrcoef(step, TRUTH)[0, 1] > 0.8
    assert np.corrcoef(np.mean([*updates.values()], axis=0), TRUTH)[0, 1] < 0.0
    assert (record["rule"], record["groups"], record["groups_used"]) == (rule, GROUPS, GROUPS)
    assert (record["accepted"], record["cohort"]) == (CLIENTS, CLIENTS)
    assert "left_out_groups" not in record  # For the owner alone.


async def test_the_server_gets_the_sums_of_groups_and_no_update(tmp_path: Path) -> None:
    """Not even with the secrets that clients revealed at the end; of each group it reads the sum."""
    clients, groups = 9, 3
    updates = lying(tokens(clients), 0)
    with grouped_server(tmp_path, clients, groups, "median", 1, more=MORE) as server:
        async with recorded(server.url) as transcript:
            await play(transcript.url, updates)
        task = server.get("/api/tasks/tiny")
        zero = server.get("/api/tasks/tiny/versions")["versions"][0]
        step = first_version(server)
    terms = Terms(
        task="tiny", bundle=task["bundle"], round=1, version=0, weights=zero["weights"],
        parameters=PARAMETERS, rows=1, bits=32, clip=CLIP, examples=10, noise=0.0, share=1.0,
        min_clients=LEAST, server="honest",
    )  # fmt: skip
    drawn = drawn_groups(tmp_path / "data", updates, groups)
    for group in drawn:
        sent = of_clients(transcript, group)
        masked, half = received(sent, PARAMETERS), without_own_masks(sent, terms)
        assert len(masked) == LEAST
        for name in group:
            assert likeness(masked, updates[name]) < CHANCE
            assert likeness(half, updates[name]) < CHANCE
        total = np.add.reduce(half, dtype=np.uint32)[:PARAMETERS].view(np.int32)
        assert np.corrcoef(total, np.sum([updates[name] for name in group], axis=0))[0, 1] > 0.999
    assert step == pytest.approx(np.median(means(drawn, updates), axis=0), abs=ROUNDING)
    stored = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not any(update.tobytes()[:64] in content for update in updates.values() for content in stored)


def of_clients(transcript: Transcript, names: list[str]) -> Transcript:
    """Returns what these clients sent."""
    heads = [name.encode() for name in names]
    mine = [
        sent
        for sent in transcript.connections
        for frames in Transcript(connections=[sent]).conversations()
        if getattr(frames[0], "token", "").encode() in heads
    ]
    return Transcript(connections=mine)


async def test_the_owner_reads_which_groups_were_left_out_and_nobody_else(tmp_path: Path) -> None:
    """Krum takes the mean of one group, so it leaves out honest ones, too: a list of suspects it is not."""
    clients, groups = 15, 5
    updates = lying(tokens(clients), 1)
    with grouped_server(tmp_path, clients, groups, "krum", 1, more=MORE) as server:
        await play(server.url, updates)
        step, record = first_version(server).astype(np.float64), kept(server)
    drawn = drawn_groups(tmp_path / "data", updates, groups)
    distances = np.abs(means(drawn, updates) - step).max(axis=1)
    assert (distances < ROUNDING).sum() == 1
    assert next(iter(updates)) not in drawn[int(np.argmin(distances))]
    assert record["groups_used"] == groups
