"""Masked rounds over real sockets: the sum is the plain one, and nothing that is received says an update."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

from backend.crypto.round_context import Terms
from backend.numerics.masking.encoding import Encoding, error
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
    write_round,
)
from tests.support.masking.server_attacks import likeness, received, without_own_masks
from tests.support.peer.transcript import recorded
from tests.support.web.server_process import running

# A random vector of as many values is less like any other than this, but for one in 10^11.
CHANCE = 0.1


@pytest.mark.parametrize(("bits", "kind"), [("32", "honest"), ("20", "honest"), ("32", "active")])
async def test_the_sum_is_that_of_the_clipped_updates_within_the_stated_bound(
    tmp_path: Path, bits: str, kind: str
) -> None:
    """One client has too long an update, another trained on half of its examples."""
    traits: list[dict[str, Any]] = [{}, {"norm": 10.0}, {"examples": 5}, {}]
    clients = dict(zip(tokens(), traits, strict=True))
    with serving(tmp_path, bits=bits, server=f'"{kind}"') as server:
        await train(server.url, clients)
        found = first_version(server)
        task = server.get("/api/tasks/tiny")
        rows = server.get("/api/tasks/tiny/contributions")["contributions"]
    weights = [one.get("examples", 10) / 10 for one in traits]
    updates = [
        known_update(token, 1, PARAMETERS, min(CLIP, one.get("norm", 1.0))).astype(np.float64)
        for token, one in clients.items()
    ]
    mean = sum(one * weight for one, weight in zip(updates, weights, strict=True)) / sum(weights)
    encoding = Encoding(CLIENTS, PARAMETERS, 1, int(bits), CLIP, sharers=3)
    bound = error(encoding, CLIENTS, sum(weights))
    assert np.abs(found - mean).max() <= bound.worst + 1e-6
    assert np.std(found - mean) <= 1.5 * bound.deviation + 1e-7
    assert np.abs(mean).max() > 20 * bound.deviation, "the bound says something here"
    assert (task["version"], [row["examples"] for row in rows]) == (1, [0] * CLIENTS)


def test_the_server_told_how_much_all_together_trained_on(tmp_path: Path) -> None:
    traits: list[dict[str, Any]] = [{}, {}, {"examples": 5}, {}]
    clients = dict(zip(tokens(), traits, strict=True))
    with serving(tmp_path) as server:
        asyncio.run(train(server.url, clients))
        (ended,) = server.get("/api/tasks/tiny/rounds")["rounds"]
        with urlopen(f"{server.url}/metrics") as answer:
            figures = answer.read().decode()
        with urlopen(f"{server.url}/tasks/tiny") as answer:
            page = answer.read().decode()
    made = ended["made"]
    assert (made["accepted"], made["examples"]) == (4, 35)
    for line in (
        'minga_unmask_seconds_count{task="tiny"} 1.0',
        'minga_masked_dropped_total{task="tiny"} 0.0',
        'minga_updates_accepted_total{task="tiny"} 4.0',
        'minga_examples_total{task="tiny"} 35.0',
    ):
        assert line in figures
    assert page.count("<td>1</td><td>–</td>") == CLIENTS, "nobody's own examples are known"
    assert made["loss"] == pytest.approx(0.5, abs=1e-5)
    assert made["metrics"]["accuracy"] == pytest.approx(0.5, abs=1e-5)


async def test_no_update_is_found_in_what_the_server_got(tmp_path: Path) -> None:
    """Not even with the secrets that clients revealed at the end."""
    names = tokens()
    with serving(tmp_path) as server:
        async with recorded(server.url) as transcript:
            await train(transcript.url, {name: {} for name in names})
        task = server.get("/api/tasks/tiny")
        zero = server.get("/api/tasks/tiny/versions")["versions"][0]
    assert task["version"] == 1
    terms = Terms(
        task="tiny",
        bundle=task["bundle"],
        round=1,
        version=0,
        weights=zero["weights"],
        parameters=PARAMETERS,
        rows=1,
        bits=32,
        clip=CLIP,
        examples=10,
        noise=0.0,
        share=1.0,
        min_clients=LEAST,
        server="honest",
    )
    masked, half = received(transcript, PARAMETERS), without_own_masks(transcript, terms)
    assert len(masked) == CLIENTS
    for name in names:
        update = known_update(name, 1, PARAMETERS, 1.0)
        assert likeness(masked, update) < CHANCE
        assert likeness(half, update) < CHANCE
        # The sum of all is what the server is to learn, and all that it can.
        total = np.add.reduce(half, dtype=np.uint32)[:PARAMETERS].view(np.int32)
        assert np.corrcoef(total, update)[0, 1] == pytest.approx(CLIENTS**-0.5, abs=CHANCE)


async def test_the_same_search_finds_them_where_one_client_does_not_mask(tmp_path: Path) -> None:
    """That nothing was found says something only if it would have been."""
    names = tokens()
    with serving(tmp_path) as server:
        async with recorded(server.url) as transcript:
            await train(transcript.url, {name: {} for name in names})
    vectors, careless = received(transcript, PARAMETERS), known_update(names[0], 1, PARAMETERS, 1.0)
    whole = np.round(careless.astype(np.float64) * 1e8).astype(np.int64)
    vectors[0] = np.append(whole.astype(np.uint32), vectors[0][PARAMETERS:])
    assert likeness(vectors, careless) > 0.99


async def test_the_same_search_finds_them_in_an_open_round(tmp_path: Path) -> None:
    names = tokens()
    write_round(tmp_path)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with recorded(server.url) as transcript:
            await train(transcript.url, {name: {"aggregation": "open"} for name in names})
    for name in names:
        assert likeness(received(transcript, PARAMETERS), known_update(name, 1, PARAMETERS, 1.0)) > 0.99
