"""What an operator can ask a running server: metrics, readiness, and how the rounds went."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest

from backend.wire.messages import Accepted, Refused
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.http_requests import ask
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

SECRET = "a-metrics-token-of-the-test"  # noqa: S105 - it opens nothing.


def figures(text: str) -> dict[str, float]:
    """The samples of a page of metrics."""
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


async def two_rounds(server: Server) -> None:
    """One round is abandoned, one makes a version; a third is open, and an update of the first comes late."""
    async with Client(server.url) as client:
        await client.ready()
        first = await client.selected()
        assert isinstance(await client.deliver(first, np.full(SIZE, np.inf)), Refused)
        second = await client.selected()
        assert isinstance(await client.deliver(first, np.ones(SIZE)), Refused)
        assert isinstance(await client.deliver(second, np.ones(SIZE)), Accepted)
        third = await client.selected()
        assert third.round == 3
        status, text = await asyncio.to_thread(ask, server, "/metrics")
        assert status == 200
        assert figures(text)['minga_clients{backend="other",kind="peer",task="tiny"}'] == 1


async def test_rounds_are_told_with_their_refusals_and_counted(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny", min_available_clients=1)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await two_rounds(server)
        rounds: list[dict[str, Any]] = server.get("/api/tasks/tiny/rounds")["rounds"]
        told = [(one["round"], one["outcome"], one["accepted"], one["refusals"]) for one in rounds[:2]]
        assert told == [
            (1, "abandoned", 0, {"not-finite": 1}),
            (2, "version", 1, {"stale-round": 1}),
        ]
        assert all(one["opened"] <= one["ended"] for one in rounds)
        later = server.get("/api/tasks/tiny/rounds?after=1&last=1000")["rounds"]
        assert later == rounds[1:]
        assert ask(server, "/api/tasks/tiny/rounds?after=x")[0] == 400
        assert ask(server, "/api/tasks/none/rounds")[0] == 404
        found = figures(ask(server, "/metrics")[1])
        assert found['minga_rounds_total{outcome="version",task="tiny"}'] == 1
        assert found['minga_updates_accepted_total{task="tiny"}'] == 1
        assert found['minga_updates_refused_total{code="not-finite",task="tiny"}'] == 1
        assert found['minga_updates_refused_total{code="stale-round",task="tiny"}'] == 1
        assert found['minga_version{task="tiny"}'] == 1
        assert found['minga_round_seconds_count{task="tiny"}'] >= 2
        assert found['minga_aggregate_seconds_count{task="tiny"}'] >= 1
        assert found['minga_received_bytes_total{task="tiny"}'] == 2 * 4 * SIZE
        assert found["process_resident_memory_bytes"] > 1e7
        assert found["process_cpu_seconds_total"] > 0
        end = time.monotonic() + PATIENCE
        while figures(ask(server, "/metrics")[1])['minga_inbox{task="tiny"}'] > 0:
            assert time.monotonic() < end, "Nobody took what waits for the host."


def test_bytes_of_blobs_are_counted_for_the_task_that_they_belong_to(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    write_task(tmp_path / "tasks" / "other", more=100)

    def sent() -> tuple[float, float]:
        found = figures(ask(server, "/metrics")[1])
        return tuple(found[f'minga_sent_bytes_total{{task="{name}"}}'] for name in ("tiny", "other"))  # type: ignore[return-value]

    with running(tmp_path / "tasks", tmp_path / "data") as server:
        weights = server.get("/api/tasks/tiny")["weights"]
        assert sent() == (0, 0)
        with urlopen(f"{server.url}/blobs/{weights}") as answer:
            assert len(answer.read()) == 4 * SIZE
        assert sent() == (4 * SIZE, 0)
        with urlopen(Request(f"{server.url}/blobs/{weights}", headers={"Range": "bytes=0-9"})) as answer:
            assert len(answer.read()) == 10
        with urlopen(Request(f"{server.url}/blobs/{weights}", method="HEAD")) as answer:
            assert answer.status == 200
        assert sent() == (4 * SIZE + 10, 0)


@pytest.mark.parametrize(
    "header", [{"X_Forwarded_For": "203.0.113.7"}, {"Host": "minga.example"}, {"Forwarded": "for=_x"}]
)
def test_metrics_are_for_this_machine(tmp_path: Path, header: dict[str, str]) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert ask(server, "/metrics")[0] == 200
        status, text = ask(server, "/metrics", **header)
        assert (status, json.loads(text)["error"]["code"]) == (403, "forbidden")


def test_metrics_may_have_a_token(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    (tmp_path / "token").write_text(SECRET + "\n")
    flags = ("--metrics-token-file", str(tmp_path / "token"))
    with running(tmp_path / "tasks", tmp_path / "data", *flags) as server:
        assert ask(server, "/metrics")[0] == 403
        assert ask(server, "/metrics", Authorization="Bearer wrong")[0] == 403
        far = {"Authorization": f"Bearer {SECRET}", "Host": "minga.example"}
        assert ask(server, "/metrics", **far)[0] == 200


def test_a_server_is_ready_when_everything_works(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    (write_task(tmp_path / "tasks" / "torn") / "bundle" / "weights.bin").write_bytes(b"1234")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        status, text = ask(server, "/readyz")
        found = json.loads(text)
        assert (status, found["ready"], found["stores"], found["stopped"]) == (200, True, None, [])
        assert "weights.bin differs" in found["left_out"]["torn"]
        assert ask(server, "/healthz") == (200, "ok")
        (tmp_path / "data" / "blobs").rename(tmp_path / "data" / "away")
        status, text = ask(server, "/readyz")
        assert (status, json.loads(text)["ready"]) == (503, False)
        assert "Nothing can be written" in json.loads(text)["stores"]
