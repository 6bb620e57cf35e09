"""What a server tells each client when it joins: the task's run, and its privacy."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from backend.wire.messages import AggregationTerms, PrivacyTerms
from tests.support.tasks.tiny_task import train_everything, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import running


async def run_of(url: str) -> str:
    """The run of the task at `url`, as a client is told."""
    async with Client(url) as client:
        return client.welcome.run


async def test_a_run_keeps_its_name_and_one_that_begins_anew_has_another(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        first = await run_of(server.url)
        assert await run_of(server.url) == first
        server.stop(signal.SIGKILL)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        assert await run_of(server.url) == first
    with running(tmp_path / "tasks", tmp_path / "elsewhere") as server:
        assert await run_of(server.url) != first


@pytest.mark.parametrize(
    ("table", "terms"),
    [
        ("", None),
        (
            '[privacy]\nmechanism = "local"\nclip = 1.0\nnoise_multiplier = 0.5\n',
            PrivacyTerms(mechanism="local", clip=1.0, noise=0.5, delta=1e-5, microbatch=0, visits=0),
        ),
        (
            '[privacy]\nmechanism = "central"\nclip = 2.0\nnoise_multiplier = 3.0\ndelta = 1e-6\n',
            PrivacyTerms(mechanism="central", clip=2.0, noise=3.0, delta=1e-6, microbatch=0, visits=0),
        ),
    ],
    ids=["none", "local", "central"],
)
async def test_clients_are_told_the_terms_of_privacy(
    tmp_path: Path, table: str, terms: PrivacyTerms | None
) -> None:
    task = tmp_path / "tasks" / "tiny"
    write_task(task)
    train_everything(task)
    file = task / "task.toml"
    file.write_text(file.read_text() + table)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with Client(server.url) as client:
            assert client.welcome.privacy == terms


async def test_clients_are_told_the_terms_of_their_masks(tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "tiny"
    write_task(task, min_available_clients=4, quorum=4)
    train_everything(task)
    masks = (
        "--set",
        "tiny.security.aggregation=['masked', 'open']",
        "--set",
        "tiny.security.masking.clip=2.0",
    )
    fewest = ("--set", "tiny.security.masking.min_clients=4")
    with running(tmp_path / "tasks", tmp_path / "data", *masks, *fewest) as server:
        async with Client(server.url) as client:
            assert client.welcome.masking is None
        async with Client(server.url, aggregation=["masked"]) as client:
            assert client.welcome.masking == AggregationTerms(clip=2.0, min_clients=4, server="honest")
