"""One client grows the server's memory and checkpoints: with each connection it names another backend."""

from __future__ import annotations

import pytest

from backend.protocols.units.client_table import ClientTable
from backend.protocols.units.rules import TrustRules
from backend.protocols.units.scheduler_snapshot import client_record, restored_client

RULES = TrustRules()


def connected(table: ClientTable, kind: str) -> None:
    table.client_connected("eve", 1, kind, None, False)
    table.client_disconnected("eve")


@pytest.mark.parametrize("kinds", [100, 5000])
def test_a_client_is_remembered_by_a_few_backends(kinds: int) -> None:
    table = ClientTable(RULES, 60.0)
    for number in range(kinds):
        connected(table, f"backend-{number}")
    record = client_record("eve", table.clients["eve"])
    assert len(record.elsewhere) <= 16
    assert len(restored_client(record).trust_of_other_kinds) <= 16


def test_the_backends_that_a_device_has_are_all_remembered() -> None:
    table = ClientTable(RULES, 60.0)
    kinds = ["webgpu", "webgl", "wasm", "cpu"]
    for kind in kinds * 3:
        connected(table, kind)
    client = table.clients["eve"]
    assert {client.kind, *client.trust_of_other_kinds} == set(kinds)
