"""Rounds of members that check each other, at their server over real sockets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backend.wire.byzantine_messages import ByzantineTerms
from tests.integration.server.conftest import Serve
from tests.support.tasks.tiny_task import write_byzantine
from tests.support.web.mesh_client import MeshPeer
from tests.support.web.server_process import running

PLAN = {"min_available_clients": 3, "averaging": "{ patience = 0.5 }", "deadline": 60}


@pytest.fixture
def checked(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of a task whose members check each other."""
    with ExitStack() as stack:

        def start(*flags: str, **changes: object) -> object:
            write_byzantine(tmp_path / "tasks" / "tiny", **changes)  # type: ignore[arg-type]  # Of a test.
            return stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", *flags))

        yield start  # type: ignore[misc]  # Its keyword arguments are those of the task.


async def test_all_who_enter_are_told_the_same_rules(checked: Serve, tmp_path: Path) -> None:
    server = checked(byzantine="{ validators = 2, radius = 0.5, probation = 30 }", **PLAN)
    async with MeshPeer(server.url) as ann, MeshPeer(server.url) as bob:
        rules = ann.entered.byzantine
        assert bob.entered.byzantine == rules
    assert rules is not None
    assert rules.terms == ByzantineTerms(
        validators=2, radius=0.5, far=4.0, probation=30, audits=17, seconds=2.0, patience=0.5
    )
    assert (rules.bundle, rules.run, rules.outer) == (
        ann.entered.bundle,
        ann.entered.run,
        ann.entered.outer,
    )
    assert (rules.steps, rules.batch_size, rules.learning_rate) == (3, 4, 0.5)
    index = json.loads((tmp_path / "tasks/tiny/shards/shards.json").read_text("utf-8"))
    assert [shard.sha256 for shard in rules.shards] == [shard["sha256"] for shard in index["train"]]


async def test_members_of_other_meshes_get_no_rules(mesh: Serve) -> None:
    async with MeshPeer(mesh().url) as ann:
        assert ann.entered.byzantine is None
