"""Costs by hand for a tiny plan, and that they follow what is changed."""

from __future__ import annotations

import copy
import json
import tomllib
from typing import Any

import pytest

from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.task_file import TaskFile, parse_task
from backend.server.estimates.data_supply import DEFAULT_EXAMPLES, Supply, expected_supply, own_supply
from backend.server.estimates.reasons import Proposal
from backend.server.estimates.round_costs import Estimate, estimate
from backend.server.estimates.round_proposals import propose
from backend.server.estimates.traffic import traffic
from backend.server.mesh.averaging_plan import averages_of
from backend.server.tasks.model_inspection import inspect
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest, task_toml

# 1,000 examples in ten shards of 5,000 bytes.
SHARDS = Supply(1000, 10, 50_000)
OWN = {"source": "volunteer", "preprocess": {"kind": "array"}, "volunteer": {"holdout": 0.1}}
VECTOR = 4 * SIZE


def tiny(**step: Any) -> Manifest:
    files = {f"native/{name}.pb": b"" for name in SIGNATURES}
    files |= {f"{name}/model.json": b"" for name in SIGNATURES} | {"weights.bin": bytes(VECTOR)}
    said = copy.deepcopy(manifest(files, 0))
    said["flops"] |= step
    return parse_manifest(json.dumps(said).encode())


def task(**tables: Any) -> TaskFile:
    said = tomllib.loads(task_toml("tiny", {"rounds": 7, "min_available_clients": 2}))
    said["data"]["shards_per_client"] = 2
    for name, table in tables.items():
        said[name] = table if name == "data" else said.get(name, {}) | table
    return parse_task(said, "here")


def facts(file: TaskFile, made: Manifest, supply: Supply, volunteers: int) -> tuple[Any, ...]:
    inspection = inspect(made, traffic(made, 1000, averages=averages_of(file, made.parameters.total)))
    return file, made, inspection.traffic, inspection.step_times, supply, volunteers


def of(file: TaskFile, supply: Supply = SHARDS, volunteers: int = 5, **step: Any) -> Estimate:
    return estimate(*facts(file, tiny(**step), supply, volunteers))


def proposed(
    file: TaskFile, supply: Supply = SHARDS, volunteers: int = 5, **step: Any
) -> dict[str, Proposal]:
    return {one.key: one for one in propose(*facts(file, tiny(**step), supply, volunteers))}


def test_a_round_is_added_up_by_hand() -> None:
    found = of(task(training={"epochs": 3}))
    # Two shards of 100 examples each, three visits, batches of four.
    assert (found.clients, found.examples, found.steps) == (5, 600, 150)
    assert (found.down, found.up) == (VECTOR, VECTOR)
    assert (found.server_out, found.server_in) == (5 * VECTOR, 5 * VECTOR)
    # Ten shards among five stay with each: two, fetched once.
    assert found.data == 2 * 5000
    assert found.volunteer_bytes == found.once + found.data + 7 * 2 * VECTOR
    assert found.server_bytes == 5 * (found.once + found.data) + 7 * 10 * VECTOR
    # 600 of 1,000 by five clients in seven rounds.
    assert found.visits == 21
    assert found.volunteer_energy[0] <= found.volunteer_energy[1]
    # As volunteers come, with browsers.
    assert [one.device for one in found.devices] == ["phone", "laptop", "gpu"]
    assert not any(one.backend.startswith("tensorflow") for one in found.devices)


def test_whoever_is_not_always_chosen_pays_for_fewer_rounds() -> None:
    chosen = {"coordination": {"rounds": 10, "fraction_train": 0.2, "min_train_clients": 1, "quorum": 1}}
    found = of(task(**chosen), volunteers=10)
    assert found.clients == 2
    assert found.volunteer_bytes == found.once + found.data + 2 * 2 * VECTOR


def test_steps_are_counted_where_the_plan_counts_them() -> None:
    found = of(task(training={"steps": 9}))
    assert (found.steps, found.examples) == (9, 36)


def test_masks_cost_their_words_and_fewer_bits_less() -> None:
    rounds = {"coordination": {"min_available_clients": 3, "quorum": 3}}
    masked = {"aggregation": ["masked"], "masking": {"min_clients": 3}}
    whole = of(task(security=masked, **rounds))
    short = of(task(security=masked | {"masking": {"min_clients": 3, "bits": 16}}, **rounds))
    assert whole.up > VECTOR
    assert short.up < whole.up
    assert whole.down == VECTOR


def test_peers_that_average_cost_the_server_no_updates() -> None:
    said = task(coordination={"scheme": "decentralized", "rounds": 7}, security={"max_update_norm": 100.0})
    found = of(said)
    assert (found.server_out, found.server_in) == (0, 0)
    assert found.up > 0


def test_too_few_volunteers_and_too_short_a_deadline_are_said() -> None:
    slow = of(
        task(coordination={"min_available_clients": 9, "deadline": 1.0}), volunteers=4, train=5 * 10**10
    )
    assert "With 4 volunteers no round would open: it needs 9" in slow.notes[0]
    assert any("No phones will be done within the deadline of 1 s" in one for one in slow.notes)
    assert {one.device: one.in_time for one in slow.devices}["phone"] == "none"
    assert of(task()).notes == []


def test_own_data_are_what_a_volunteer_brings_without_what_is_held_out() -> None:
    file = task(data=OWN)
    assert own_supply(file, None).examples == DEFAULT_EXAMPLES * 9 // 10
    supply = own_supply(file, 50)
    assert (supply.examples, supply.own, supply.counted) == (45, True, True)
    found = of(file, supply)
    assert (found.examples, found.data) == (45, 0)
    with pytest.raises(ValueError, match="assigns"):
        own_supply(task(), 10)


def test_before_the_cut_shards_are_guessed_as_the_cut_would_make_them() -> None:
    supply = expected_supply(500, task(), tiny())
    assert (supply.examples, supply.shards, supply.counted) == (450, 16, False)
    # Two inputs of four bytes and a class number.
    assert supply.bytes == 450 * 3 * 4
    assert expected_supply(5, task(), tiny()).shards == 4
    assert expected_supply(50_000, task(), tiny()).shards == 45


def test_a_small_set_is_gone_over_so_that_a_round_is_worth_its_traffic() -> None:
    found = proposed(task(), Supply(100, 10, 500), 10)
    # Ten examples each are three steps of four: five visits at most.
    assert found["data.shards_per_client"].value == 1
    assert found["training.epochs"].value == 5
    assert found["training.steps"].value is None
    # A round has 10 × 10 × 5 examples; twenty visits to 100 take four rounds, but 800 steps in a row take 54.
    assert found["coordination.rounds"].value == 54
    assert "in 54 rounds each of the 100 is seen about 270 times" in found["coordination.rounds"].reason
    assert found["coordination.deadline"].value == 30.0
    assert all(one.reason.endswith(".") for one in found.values())


def test_heavy_steps_are_counted_instead_of_visits() -> None:
    found = proposed(task(), train=10**11)
    assert found["training.epochs"].value is None
    assert (found["training.steps"].value or 0) >= 1
    assert (found["coordination.deadline"].value or 0) > 60


def test_people_with_data_of_their_own_are_held_together_and_not_alone_in_a_version() -> None:
    file = task(data=OWN)
    found = proposed(file, own_supply(file, 200))
    assert "data.shards_per_client" not in found
    assert found["training.proximal_mu"].value == 0.01
    assert (found["coordination.min_available_clients"].value, found["coordination.quorum"].value) == (3, 3)


def test_what_is_proposed_is_sound(subtests: pytest.Subtests) -> None:
    for name, file in {"shards": task(), "own": task(data=OWN)}.items():
        with subtests.test(name):
            supply = own_supply(file, 200) if file.data.own else SHARDS
            said = tomllib.loads(task_toml("tiny", {"rounds": 7}))
            said["data"] = OWN if file.data.own else said["data"]
            for key, one in proposed(file, supply).items():
                table, _, last = key.partition(".")
                said.setdefault(table, {}).pop(last, None)
                if one.value is not None:
                    said[table][last] = one.value
            assert of(parse_task(said, "here"), supply).notes == []


def test_members_that_check_each_other_get_a_plan_of_ten_steps_of_a_drawn_shard() -> None:
    checked = {"scheme": "decentralized", "byzantine": {}}
    file = task(
        coordination=checked,
        data={"source": "shards", "shards": "shards"},
        training={"steps": 20},
        security={"max_update_norm": 100.0},
    )
    values = {key: one.value for key, one in proposed(file).items()}
    assert (values["training.steps"], values["training.epochs"]) == (10, None)
    assert "data.shards_per_client" not in values
    # Both ways: of each part to and from the members of a group of 32, in float32.
    assert of(file).up == 2 * VECTOR * 31 // 32
