"""What the table of participants calls refused and late."""

from __future__ import annotations

from backend.server.dashboards.participants import ParticipantTable
from backend.server.observers import task_events
from backend.stores.contracts import ContributionRecord


def test_results_in_flight_at_the_end_of_a_training_are_neither_refused_nor_late() -> None:
    ann = ContributionRecord("ann", "browser", "wasm", accepted=3, refused=1, examples=96)
    table = ParticipantTable({"ann": ann})
    for event in (
        task_events.UnitReturned("ann", 1, late=False),
        task_events.UnitRejected("ann", 1, "over", "The training ended first."),
        task_events.UnitReturned("ann", 2, late=True),
        task_events.UnitRejected("ann", 3, "invalid", "It differs."),
    ):
        table.notice(event)
    (row,) = table.rows([], {}, lambda _: None, lambda _: (0, 0))
    assert (row["refused"], row["refusals"], row["late"]) == (1, {"invalid": 1}, 1)
