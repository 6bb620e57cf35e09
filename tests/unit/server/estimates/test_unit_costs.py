"""Costs and proposals for work units, by hand for a tiny plan."""

from __future__ import annotations

import math
import tomllib
from typing import Any

import pytest

from backend.formats.task_file import TaskFile, parse_task
from backend.formats.task_file.units import TrustTable
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import Proposal
from backend.server.estimates.round_costs import Estimate
from backend.server.estimates.unit_costs import estimate_units, leases_of_unit
from backend.server.estimates.unit_proposals import propose_units
from backend.server.units.validation.tolerances import table
from tests.support.tasks.tiny_task import volunteer_toml
from tests.unit.server.estimates.test_round_costs import SHARDS, VECTOR, facts, task, tiny

ALONE = {"replicas": 1, "spot_checks": 0.0}
HEAVY: dict[str, Any] = {"train": 2 * 10**12}


def units(training: dict[str, Any] | None = None, **said: Any) -> TaskFile:
    tables = tomllib.loads(volunteer_toml("tiny", **said))
    tables["training"] = training or {"epochs": 1}
    return parse_task(tables, "here")


def of(file: TaskFile, supply: Supply = SHARDS, volunteers: int = 5, **step: Any) -> Estimate:
    return estimate_units(*facts(file, tiny(**step), supply, volunteers))


def proposed(file: TaskFile, supply: Supply = SHARDS, **step: Any) -> dict[str, Proposal]:
    return {one.key: one for one in propose_units(*facts(file, tiny(**step), supply, 5))}


def test_units_are_added_up_by_hand() -> None:
    found = of(units({"epochs": 3}, rows=50, trust=ALONE))
    # Ten shards of 100 are twenty units of 50, three visits each, batches of four.
    assert found.units is not None
    assert (found.units.an_epoch, found.units.leases) == (20, 1.0)
    assert (found.examples, found.steps, found.rounds) == (150, 39, 3)
    assert (found.down, found.up) == (VECTOR, VECTOR)
    assert (found.server_out, found.server_in) == (20 * VECTOR, 20 * VECTOR)
    # Sixty units among five are twelve for each, of two shards that stay with it.
    assert found.data == 2 * 5000
    assert found.volunteer_bytes == found.once + found.data + 12 * 2 * VECTOR
    assert found.server_bytes == 5 * (found.once + found.data) + 60 * 2 * VECTOR
    assert found.visits == 9
    assert found.notes == []


def test_a_unit_is_a_whole_shard_where_no_rows_are_said_and_never_more() -> None:
    for rows in (0, 100, 5000):
        found = of(units(rows=rows))
        assert found.units is not None
        assert (found.units.an_epoch, found.examples) == (10, 100)


def test_pushes_of_downpour_say_how_long_a_unit_is() -> None:
    push = {"name": "downpour", "n_push": 5}
    found = of(units(assimilation=push, seconds=1.0), train=10**10)
    assert (found.examples, found.steps) == (20, 5)
    # Nobody gets a part of one.
    assert {one.in_time for one in found.devices} == {"all"}


def test_work_of_newcomers_is_done_more_often_and_trusted_ones_less_and_less() -> None:
    trust = TrustTable(replicas=2, checked=10)
    assert leases_of_unit(trust, 1.0, 100, 100) == 2.0
    many = [leases_of_unit(trust, 1.0, count, 10) for count in (100, 1000, 10_000)]
    assert many == sorted(many, reverse=True)
    assert all(1.0 < one < 2.0 for one in many)
    assert leases_of_unit(TrustTable(replicas=1), 1.0, 100, 10) == 1.0
    peers = TrustTable(replicas=1, spot_checks=0.1, trusted=["0" * 16])
    assert math.isclose(leases_of_unit(peers, 8.0, 100, 10), 1.1)


def test_slow_devices_get_parts_of_heavy_units() -> None:
    heavy = of(units(seconds=1.0), **HEAVY)
    assert {one.device: one.in_time for one in heavy.devices}["phone"] == "none"
    assert {one.in_time for one in of(units()).devices} == {"all"}


def test_who_could_never_be_done_is_said() -> None:
    assert "With 1 volunteer no unit would ever be done" in of(units(), volunteers=1).notes[0]
    assert of(units(trust=ALONE), volunteers=1).notes == []
    peers = {"trusted": ["0" * 16]}
    assert of(units(rows=50, trust=peers), volunteers=1).notes == []
    long = of(units({"epochs": 9}))
    assert "A unit takes 225 steps" in long.notes[0]
    lost = of(units(lease=1.0), train=10**12)
    assert any("Slow phones would lose their turn" in one for one in lost.notes)


@pytest.mark.parametrize("examples", [10, 100, 2000, 60_000, 900_001])
def test_proposed_units_can_be_compared_and_cover_their_shard(examples: int) -> None:
    supply = Supply(examples, 10, 10 * examples)
    found = proposed(units(), supply)
    shard = round(examples / 10)
    rows = int(found["coordination.units.rows"].value or shard)
    epochs = int(found["training.epochs"].value or 0)
    assert rows <= shard
    assert epochs * math.ceil(rows / 4) <= table().steps
    # The last piece is no crumb: it has half of the others' rows at least, or there is no other.
    assert shard % rows == 0 or shard % rows >= rows / 2 or shard - rows < 4 * (shard // rows + 1)
    assert all(one.reason.endswith(".") for one in found.values())


def test_heavy_steps_make_units_small_and_leases_long() -> None:
    light, heavy = proposed(units(), Supply(9000, 3, 9)), proposed(units(), Supply(9000, 3, 9), **HEAVY)
    rows = "coordination.units.rows"
    assert (heavy[rows].value or 3000) < (light[rows].value or 3000)
    lease = "coordination.units.lease"
    assert (light[lease].value, light["training.epochs"].value) == (120.0, 1)
    assert (heavy[lease].value or 0) > 120


def test_alpha_is_proposed_for_the_recipe_that_has_it_so() -> None:
    key = "coordination.units.assimilation.alpha"
    assert proposed(units())[key].value is None
    assert key not in proposed(units(assimilation={"name": "fedbuff"}))


def test_what_is_proposed_is_sound() -> None:
    nothing: dict[str, Any] = {}
    for step in (nothing, HEAVY):
        said = tomllib.loads(volunteer_toml("tiny"))
        for key, one in proposed(units(), **step).items():
            if one.value is None:
                continue
            *path, last = key.split(".")
            place = said
            for name in path:
                place = place.setdefault(name, {})
            place[last] = one.value
        assert of(parse_task(said, "here"), **step).notes == []


def test_a_task_of_rounds_has_no_units_to_plan() -> None:
    for work in (estimate_units, propose_units):
        with pytest.raises(ValueError, match="rounds"):
            work(*facts(task(), tiny(), SHARDS, 5))
