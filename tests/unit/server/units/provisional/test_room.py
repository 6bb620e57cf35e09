"""Results count before they are proven only where they can be refuted and taken out again."""

from __future__ import annotations

import tomllib
from typing import Any

import msgspec
import pytest

from backend.formats.task_file import TaskFile
from backend.server.units.provisional.room import PROVISIONAL_BYTES, provisional_clients
from tests.support.tasks.tiny_task import volunteer_toml

PEER = {"trusted": ["0" * 16]}


def task(exact: str = "required", **units: Any) -> TaskFile:
    tables = tomllib.loads(volunteer_toml("tiny", **{"trust": PEER, **units}))
    return msgspec.convert({**tables, "training": {"epochs": 1, "exact": exact}}, TaskFile)


def test_the_room_is_for_as_many_clients_as_memory_holds() -> None:
    assert provisional_clients(task(), 10) == PROVISIONAL_BYTES // 320
    assert provisional_clients(task(), 50_000_000) == 1


@pytest.mark.parametrize(
    "file",
    [
        task(exact="preferred"),
        task(exact="off"),
        task(trust={}),
        task(trust={**PEER, "replicas": 1}),
        task(trust={**PEER, "spot_checks": 0.0}),
        task(assimilation={"name": "fedbuff"}),
        task(assimilation={"name": "dc-asgd"}),
        task(assimilation={"name": "downpour", "adagrad": 0.1}),
    ],
)
def test_elsewhere_no_result_is_provisional(file: TaskFile) -> None:
    assert provisional_clients(file, 10) == 0


@pytest.mark.parametrize("rule", ["vc-asgd", "downpour", "fedasync"])
def test_linear_assimilations_can_take_results_out(rule: str) -> None:
    assert provisional_clients(task(assimilation={"name": rule}), 10) > 0
