"""`minga cost`, run as its users run it, against a real server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from backend.__main__ import main
from backend.server.estimates.prices import DEFAULT_PRICES
from backend.wire.messages import Accepted, Version
from backend.wire.unit_messages import Board, Counted, Unit
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS, SIZE, write_task, write_units
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running
from tests.support.web.unit_client import UnitClient


async def test_a_training_in_rounds_is_reckoned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1, rounds=2, deadline=120)
    prices = tmp_path / "mine.toml"
    prices.write_text(
        DEFAULT_PRICES.read_text("utf-8").replace("standard = 0.34 ", "standard = 34000 "), "utf-8"
    )
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        at = ["cost", "tiny", "--server", server.url]
        assert await asyncio.to_thread(main, at) == 2
        assert "Nobody worked on tiny" in capsys.readouterr().err
        async with Client(server.url) as client:
            await client.ready()
            for _ in range(2):
                assert isinstance(await client.deliver(await client.selected(), np.ones(SIZE)), Accepted)
            # A round is recorded after its updates were acknowledged, and before its version is told.
            await client.next(Version)
        asked = [*at, "--json", "--prices", str(prices), "--instance", "c5.2xlarge"]
        assert await asyncio.to_thread(main, asked) == 0
        told = json.loads(capsys.readouterr().out)
        assert await asyncio.to_thread(main, at) == 0
        text = capsys.readouterr().out
        assert await asyncio.to_thread(main, [*at, "--instance", "abacus"]) == 2
        assert "it has: c5.2xlarge" in capsys.readouterr().err
        rounds = server.get("/api/tasks/tiny/rounds")["rounds"]
    assert told["passes"] == 2
    assert told["seconds"] == pytest.approx(sum(one["seconds"] for one in rounds))
    (client_told,) = told["clients"]
    assert (client_told["results"], client_told["busy"]) == (2, pytest.approx(told["seconds"]))
    (fleet,) = told["fleets"]
    assert fleet["standard_rented"] == pytest.approx(told["seconds"] / 3600 * 34000)
    assert told["bytes_up"] == 2 * 4 * SIZE
    for words in ("2 rounds", "c5.4xlarge", "n1-standard-4", "preemptible", "Wh"):
        assert words in text


async def test_of_work_units_the_seconds_of_every_result_are_reckoned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trust = {"replicas": 1, "spot_checks": 0.0}
    write_units(tmp_path / "tasks" / "tiny", epochs=2, trust=trust)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with UnitClient(server.url) as client:
            await client.ready()
            for _ in range(2 * SHARDS):
                await client.deliver(await client.next(Unit), np.ones(SIZE), steps=2)
                await client.next(Counted)
            while (await client.next(Board)).phase != "finished":
                pass
        asked = ["cost", "tiny", "--server", server.url]
        assert await asyncio.to_thread(main, [*asked, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert await asyncio.to_thread(main, asked) == 0
        assert "2 epochs" in capsys.readouterr().out
        results = server.get("/api/tasks/tiny/units/history?last=1000")["results"]
    assert (told["scheme"], told["passes"]) == ("volunteer", 2)
    (worker,) = told["clients"]
    assert (worker["results"], worker["examples"]) == (2 * SHARDS, 2 * SHARDS * EXAMPLES)
    # What overlaps counts once, and the table rounds to milliseconds.
    assert 0 < worker["busy"] <= sum(one["seconds"] for one in results) + 0.1
    assert worker["busy"] <= told["seconds"]
    assert told["bytes_up"] == 2 * SHARDS * 4 * SIZE
