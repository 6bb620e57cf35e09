"""Rounds of members that check each other, at their server over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from backend.wire.byzantine_messages import ByzantineTerms
from backend.wire.mesh_messages import Group
from backend.wire.messages import Train
from tests.integration.server.conftest import Serve
from tests.integration.server.mesh.test_mesh_rounds import brought, peers, vector
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
        validators=2, radius=0.5, far=4.0, probation=30, audits=5, seconds=2.0, patience=0.5
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


async def test_a_round_is_recorded_with_a_validator_that_trained_nothing(checked: Serve) -> None:
    server = checked(**PLAN)
    async with peers(server, 3) as those:
        plans = await asyncio.gather(*(one.next(Train) for one in those))
        assert {(plan.steps, plan.epochs) for plan in plans} == {(3, 0)}
        validator, *workers = those
        await validator.trained(plans[0], examples=0, steps=0, loss=0.0, sums=[])
        for one, plan in zip(workers, plans[1:], strict=True):
            await one.trained(plan, examples=12, steps=3)
        groups = await asyncio.gather(*(one.next(Group) for one in those))
        for one, group in zip(those, groups, strict=True):
            assert (group.exchange, group.precision, len(group.members)) == ("butterfly", "float32", 3)
            await one.averaged(group, vector(1.0), range(3))
        version = await brought(those, vector(1.0))
    assert (version.version, version.accepted, version.examples) == (1, 3, 24)
    assert (version.loss, version.metrics) == (0.5, {"accuracy": 0.25})
