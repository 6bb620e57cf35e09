"""What an epoch's record counts as refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from backend.server.units.epoch_record import Epoch
from backend.server.units.results.result_uploads import ResultUploads
from backend.server.units.state import UnitLeases, UnitsState
from backend.wire import unit_messages


def test_a_result_of_a_unit_that_is_over_was_not_refused() -> None:
    epoch, told = Epoch(1, 0), list[unit_messages.Rejected]()
    state = SimpleNamespace(
        leases=UnitLeases(),
        clients=SimpleNamespace(forget_own=lambda _: None),
        connected=SimpleNamespace(tell=lambda _, frame: told.append(frame)),
        run=SimpleNamespace(epoch=epoch),
        notice=lambda _: None,
    )
    uploads = ResultUploads(cast(UnitsState, state))
    uploads.reject("ann", 1, "over", "The training ended first.")
    uploads.reject("ann", 2, "invalid", "It differs.")
    assert [frame.code for frame in told] == ["over", "invalid"]
    assert (dict(epoch.refused.codes), dict(epoch.refused.clients)) == ({"invalid": 1}, {"ann": 1})
