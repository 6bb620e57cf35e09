"""The board of work units says how they stand, however many there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backend.formats.task_file.units import TrustTable
from backend.protocols.units.rules import Rules, TrustRules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import GrantLease, WorkUnit
from backend.server.hosting.clients.client_link import Presence
from backend.server.units.board.board import MAX_CELLS, MAX_ROWS, overview_json

RULES = TrustTable(replicas=2, checked=1, quota=9)


@dataclass
class Servers:
    count: int = 3
    backlog: int = 2


@dataclass
class Model:
    base: int = 171
    contained: float = 97.0
    lost: float = 74.0


def here(client: str) -> Presence:
    return Presence(client, "browser", "webgl", "training", 1.0)


def told(machine: Scheduler, *clients: str) -> dict[str, Any]:
    return overview_json(machine, Servers(), [here(one) for one in clients], Model(), 40, RULES, now=50.0)


def begun(units: int) -> Scheduler:
    machine = Scheduler(Rules(replicas=2, trust=TrustRules(proven=1, quota=9)))
    machine.begin_epoch(WorkUnit(number, number, 10, 5) for number in range(units))
    return machine


def leased(machine: Scheduler, client: str) -> GrantLease:
    machine.client_connected(client, slots=2, kind="browser webgl")
    return next(one for one in machine.ask(client, 7, 0.5, now=0.0) if isinstance(one, GrantLease))


def both(machine: Scheduler, of_bob: Verdict) -> None:
    """Ann and then bob do the same unit, and Ann's result is valid."""
    first = leased(machine, "ann")
    machine.returned("ann", first.lease, 10.0)
    second = leased(machine, "bob")
    assert first.unit == second.unit, "a newcomer's unit is done by another, too"
    machine.returned("bob", second.lease, 10.0)
    machine.judged(first.unit, {first.lease: Verdict.VALID, second.lease: of_bob})


def test_each_unit_is_counted_where_it_stands() -> None:
    machine = begun(3)
    both(machine, Verdict.VALID)
    leased(machine, "ann")
    found = told(machine, "ann", "bob")
    assert found["tally"] == {
        "units": 3, "open": 1, "leased": 1, "compared": 0, "done": 1, "failed": 0, "dropped": 0,
    }  # fmt: skip
    assert found["leases"] == {"valid": 2, "leased": 1}
    assert found["shards"] == {
        "count": 3,
        "each": 1,
        "cells": [[0, 0, 0, 1, 0, 0, 2], [0, 1, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 0]],
    }
    assert (found["comparison"], found["trust"][0]["doubted"]) == ("newcomers", False)
    assert found["servers"] == {"count": 3, "backlog": 2, "lost": 74.0}
    assert found["clients"] == {"here": 2, "at_work": 1, "slots": 4, "proven": 2, "trusted": 0}
    assert (found["epoch"], found["epochs"], found["base"], found["in_model"]) == (1, 40, 171, 97.0)


def test_units_that_were_dropped_were_not_given_up() -> None:
    machine = begun(2)
    machine.drop(0)
    found = told(machine)
    assert (found["tally"]["failed"], found["tally"]["dropped"]) == (0, 1)
    assert found["shards"]["cells"][0] == [0, 0, 0, 0, 0, 1, 0]


def test_clients_stand_with_their_trust_those_who_are_here_first() -> None:
    machine = begun(4)
    both(machine, Verdict.FAULTY)
    machine.client_disconnected("ann")
    machine.client_connected("cat", slots=0, kind="peer tensorflow-cpu", trusted=True)
    bob, cat, ann = told(machine, "bob", "cat")["trust"]
    assert (bob["client"], bob["here"], bob["held"], bob["proven"]) == ("bob", True, 0, False)
    assert (bob["quota"], bob["left_today"]) == (4, 3)
    assert (bob["doubted"], ann["doubted"]) == (True, False)
    assert (cat["trusted"], cat["kind"], cat["seconds"]) == (True, "peer tensorflow-cpu", None)
    assert (ann["client"], ann["here"], ann["held"], ann["proven"]) == ("ann", False, 0, False)
    assert ann["seconds"] == 1.0


def test_many_shards_share_cells_and_many_clients_are_cut_short() -> None:
    machine = begun(2 * MAX_CELLS + 1)
    for number in range(MAX_ROWS + 5):
        machine.client_connected(f"c{number}", slots=1)
    found = told(machine, *(f"c{number}" for number in range(MAX_ROWS + 5)))
    shards = found["shards"]
    cells = shards["cells"]
    assert (shards["count"], shards["each"]) == (2 * MAX_CELLS + 1, 3)
    assert len(cells) <= MAX_CELLS
    assert sum(cell[0] for cell in cells) == 2 * MAX_CELLS + 1
    assert len(found["trust"]) == MAX_ROWS


def test_before_the_first_epoch_there_is_nothing_to_show() -> None:
    found = told(Scheduler(Rules()))
    assert found["shards"] == {"count": 0, "each": 1, "cells": []}
    assert found["trust"] == []
