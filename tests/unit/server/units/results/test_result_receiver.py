"""What the server does with a result that a client offers, before a byte of it is sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from backend.server.units.results.result_receiver import ResultReceiver
from backend.server.units.state import LeasedUnit, UnitLeases, UnitsState
from backend.wire import unit_messages
from tests.support.protocols.unit_conversations import begun, lease

SIZE, BATCH = 3, 10


class Calls:
    """Takes any call, and remembers its name and first two arguments."""

    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *values: self.heard.append((name, *values[:2]))


def offered(steps: int) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What happens to a result of a unit of ten steps: to its upload, and to its client."""
    scheduler = begun(2, "ann", "bob")
    grant = lease(scheduler, "ann")
    uploads, dispatcher, leases = Calls(), Calls(), UnitLeases()
    leases.add(LeasedUnit(grant, 1, 0.0, "browser", "wasm"))
    training = SimpleNamespace(steps=None)
    task = SimpleNamespace(file=SimpleNamespace(training=training), epochs=1, batch_size=BATCH)
    state = SimpleNamespace(leases=leases, scheduler=scheduler, task=task, size=SIZE)
    receiver = ResultReceiver(cast(UnitsState, state), cast(Any, dispatcher), cast(Any, uploads))
    result = unit_messages.Result(
        lease=grant.lease, examples=steps * BATCH, steps=steps, loss=1.0, sums=[], size=4 * SIZE
    )
    receiver.offered("ann", result, 1.0)
    return uploads.heard, dispatcher.heard


@pytest.mark.parametrize("steps", [10, 6])
def test_a_whole_unit_and_the_larger_part_of_one_are_sent(steps: int) -> None:
    uploads, dispatcher = offered(steps)
    assert [name for name, *_ in uploads] == ["begin_upload"]
    assert dispatcher == []


def test_a_part_that_cannot_be_compared_is_not_sent_and_its_client_gets_another_unit() -> None:
    uploads, dispatcher = offered(4)
    assert [name for name, *_ in uploads] == ["drop_upload", "reject"]
    assert dispatcher == [("ended", 0), ("wants", "ann")]
