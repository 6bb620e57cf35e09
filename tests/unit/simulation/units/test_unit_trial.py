"""Simulated tasks of work units: each unit is accounted for, and the seed decides everything."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.errors import SettingsError
from backend.formats.exact_program import ExactProgram, program_hash
from backend.formats.pins import pin_bundle
from backend.protocols.units.server_pool import PoolRules
from backend.server.units.dispatcher import CLIENTS_PER_DISPATCH
from backend.simulation.population import SimulatedPopulation
from backend.simulation.units.life_times import exponential_lives
from backend.simulation.units.machines import RentedMachine
from backend.simulation.units.outcome import UnitRunFigures
from backend.simulation.units.store_costs import StoreName
from backend.simulation.units.training_record import record_of
from backend.simulation.units.unit_trial import UnitTrial, UnitTrialResult, try_units
from tests.support.tasks.tiny_task import EXAMPLES, OPS, SHARDS, write_units

ALONE = {"replicas": 1, "spot_checks": 0.0}
ALONE_OVERRIDES = ("coordination.units.trust.replicas=1", "coordination.units.trust.spot_checks=0")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return slowed(write_units(tmp_path_factory.mktemp("units") / "tiny", lease=60))


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return slowed(write_units(tmp_path_factory.mktemp("units") / "single", lease=60, rows=2, trust=ALONE))


def slowed(folder: Path) -> Path:
    """The task in `folder`, with steps that take phones and laptops seconds."""
    path = folder / "bundle" / "bundle.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["flops"]["train"] = 50 * 10**9
    path.write_text(json.dumps(manifest), "utf-8")
    return folder


def tried(folder: Path, clients: int = 8, churn: float = 0.0, **settings: Any) -> UnitTrialResult:
    population = SimulatedPopulation(clients, churn, {"phone": 50, "laptop": 50}, 10.0, 50.0, 200)
    settings = {"overrides": (), "epochs": 2, "server_megabits": 1000.0, "seed": 1, **settings}
    return try_units(UnitTrial(folder / "task.toml", population=population, **settings), frozenset(OPS))


def test_the_same_seed_repeats_a_run_with_all_that_it_draws(tiny: Path) -> None:
    lives = exponential_lives(30.0)
    first, again = (tried(tiny, churn=0.3, draw_life=lives, at_once=2) for _ in range(2))
    assert first.figures == again.figures
    assert first.clients == again.clients
    assert first.assimilations == again.assimilations
    assert record_of(first) == record_of(again)
    assert tried(tiny, churn=0.3, draw_life=lives, at_once=2, seed=2).figures != first.figures


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 1000),
    churn=st.sampled_from([0.0, 0.4]),
    life=st.sampled_from([None, 100.0]),
    replicas=st.sampled_from([1, 2]),
)
def test_every_unit_that_is_handed_out_has_one_outcome(
    tiny: Path, seed: int, churn: float, life: float | None, replicas: int
) -> None:
    lives = None if life is None else exponential_lives(life)
    overrides = (f"coordination.units.trust.replicas={replicas}",)
    result = tried(tiny, churn=churn, draw_life=lives, seed=seed, overrides=overrides)
    figures = result.figures
    assert figures.finished
    assert sum(row.units for row in figures.outcomes) == figures.handed_out
    assert figures.preempted.units + figures.dropped_out.units == figures.units("lost")
    assert figures.units("in the model") == len(result.assimilations)
    assert 0.0 < figures.visited <= 1.0
    if replicas == 1 and not churn and life is None:
        # Idle clients get copies of the last units of an epoch; one of both is not needed.
        assert figures.handed_out == figures.units("in the model") + figures.units("not needed")
        assert figures.visited == 1.0


@pytest.mark.timeout(30)
def test_more_idle_clients_than_are_served_at_a_time_do_not_keep_the_server_busy(tiny: Path) -> None:
    """Time would stand still if turn followed upon turn: with a unit pending that nobody may have."""
    assert tried(tiny, clients=CLIENTS_PER_DISPATCH + 30, churn=0.1).figures.finished


def test_without_replicas_each_row_is_visited_once_an_epoch(single: Path) -> None:
    result = tried(single, draw_life=exponential_lives(60.0), epochs=3)
    assert result.figures.units("lost") > 0
    visits = Counter(
        (row.epoch, row.shard, row.first + offset)
        for row in result.assimilations
        for offset in range(row.examples)
    )
    assert set(visits.values()) == {1}
    assert len(visits) == 3 * SHARDS * EXAMPLES


def test_machines_that_live_shorter_lose_more_and_come_back_under_another_id(single: Path) -> None:
    calm, restless = (tried(single, draw_life=exponential_lives(life)) for life in (1e9, 5.0))
    assert calm.figures.preemptions == calm.figures.units("lost") == 0
    assert restless.figures.preemptions > 10
    assert restless.figures.preempted.units == restless.figures.units("lost") > 0
    assert restless.figures.seconds > calm.figures.seconds
    assert all(len(set(client.ids)) == len(client.ids) for client in restless.clients)


def test_a_large_model_makes_a_slow_store_the_bottleneck(tmp_path: Path) -> None:
    """With results of 20 MB two servers are busy in PostgreSQL, one of them waiting for the other."""
    folder = write_units(tmp_path / "large", more=5_000_000 - 10, trust=ALONE)
    population = SimulatedPopulation(6, 0.0, {"gpu": 1}, 1e5, 1e5, 200)
    names: tuple[StoreName, ...] = ("memory", "postgresql")
    stores = {}
    for name in names:
        trial = UnitTrial(
            path=folder / "task.toml",
            overrides=(),
            population=population,
            epochs=2,
            server_megabits=1e6,
            seed=1,
            store=name,
            servers=PoolRules(2, 2),
        )
        stores[name] = try_units(trial, frozenset(OPS)).figures
    memory, postgres = stores["memory"], stores["postgresql"]
    assert memory.waits.median is not None
    assert postgres.waits.median is not None
    assert postgres.waits.median > 5 * memory.waits.median >= 5 / 146 - 1e-9
    assert (postgres.servers_busy or 0.0) > 2 * (memory.servers_busy or 0.0)
    assert postgres.seconds > memory.seconds


def test_too_few_clients_to_repeat_a_unit_are_refused(tiny: Path) -> None:
    with pytest.raises(SettingsError, match="1 clients are fewer than the 2 that repeat"):
        tried(tiny, clients=1)


def test_the_record_has_the_work_of_all_lives(single: Path) -> None:
    result = tried(single, draw_life=exponential_lives(20.0))
    record = record_of(result)
    assert (record.scheme, record.passes, len(record.work)) == ("volunteer", 2, 8)
    assert sum(client.examples for client in record.work) == 2 * SHARDS * EXAMPLES
    for client, use in zip(record.work, result.clients, strict=True):
        assert 0.0 <= client.busy <= client.there <= record.seconds + 10.0
        assert client.there == use.present


@pytest.mark.parametrize(
    "overrides",
    [
        ("training.exact=required",),
        ("coordination.units.trust.trusted=['0123456789abcdef']", "coordination.units.trust.spot_checks=0.3"),
        ("coordination.units.assimilation={name='easgd'}", *ALONE_OVERRIDES),
    ],
)
def test_committed_results_trusted_peers_and_own_weights_are_simulated(
    tmp_path: Path, overrides: tuple[str, ...]
) -> None:
    folder = write_units(tmp_path / "tiny", lease=60)
    files = {"main.js": "a" * 64}
    pin_bundle(folder / "bundle", ExactProgram(program_hash(files), files))
    figures = tried(folder, overrides=overrides).figures
    assert figures.finished
    assert figures.visited == 1.0
    assert figures.units("refused") == 0


def test_given_machines_with_more_cores_are_faster_and_wait_for_a_server_that_evaluates(single: Path) -> None:
    def figures(cores: int, **settings: Any) -> UnitRunFigures:
        machines = (RentedMachine(10.0, cores, 100.0, 100.0, 0.01),) * 3
        return tried(single, at_once=4, machines=machines, **settings).figures

    one, four = figures(1), figures(4)
    assert four.seconds < 0.5 * one.seconds
    assert one.queues.most == four.queues.most == 0
    evaluated = figures(4, server_cores=1, evaluation=30.0, servers=PoolRules(1, 1))
    assert (evaluated.servers_busy or 0.0) > 0.8
    assert (evaluated.queues.most or 0) > 3
    assert evaluated.seconds > 1.5 * four.seconds
