"""Figures of work units as Prometheus reads them."""

from __future__ import annotations

import asyncio
from urllib.request import urlopen

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from backend.server.observers import task_events
from backend.web.api.metrics import Metrics
from tests.integration.server.conftest import Serve
from tests.integration.server.units.test_work_units import ALONE, done
from tests.support.tasks.tiny_task import SHARDS
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server
from tests.support.web.unit_client import UnitClient

STATES = ("open", "leased", "compared", "done", "failed", "dropped")


def figures(server: Server) -> dict[str, float]:
    """What Prometheus reads of the task `tiny`, by name; of units, by their states."""
    with urlopen(f"{server.url}/metrics", timeout=PATIENCE) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    samples = [one for family in families for one in family.samples if one.labels.get("task") == "tiny"]
    return {one.labels.get("state", one.name): one.value for one in samples}


def test_what_becomes_of_work_units_is_counted_by_task() -> None:
    figures = Metrics()
    for event in (
        task_events.UnitLeased("a", lease=1, unit=1, epoch=1, shard=0),
        task_events.UnitLeased("b", lease=2, unit=2, epoch=1, shard=1),
        task_events.UnitLeased("b", lease=2, unit=2, epoch=1, shard=1, again=True),
        task_events.UnitReleased("b", 2, "preempted"),
        task_events.UnitReturned("a", 1, late=True),
        task_events.UnitRejected("c", 3, "disagrees", "It differs from the others'."),
        task_events.UnitCounted("a", 1, examples=40, blended=True),
        task_events.ResultAssimilated(epoch=1, unit=1, staleness=3, seconds=0.02),
        task_events.EpochRestarted(epoch=1, units=6),
    ):
        figures.notice("digits", event)
    lines = generate_latest(figures.registry).decode().splitlines()
    for line in (
        'minga_units_leased_total{task="digits"} 2.0',
        'minga_units_released_total{cause="preempted",task="digits"} 1.0',
        'minga_units_returned_total{late="yes",task="digits"} 1.0',
        'minga_units_rejected_total{code="disagrees",task="digits"} 1.0',
        'minga_units_counted_total{task="digits"} 1.0',
        'minga_units_examples_total{task="digits"} 40.0',
        'minga_epochs_reopened_total{task="digits"} 1.0',
        'minga_staleness_bucket{le="2.0",task="digits"} 0.0',
        'minga_staleness_bucket{le="5.0",task="digits"} 1.0',
        'minga_assimilate_seconds_count{task="digits"} 1.0',
    ):
        assert line in lines


async def test_where_units_and_who_assimilates_them_is_read_off_a_server(units: Serve) -> None:
    server = units("--parameter-servers", "2", trust=ALONE)
    async with UnitClient(server.url) as client:
        await client.ready(3)
        first, *_ = await client.units(3)
        found = await asyncio.to_thread(figures, server)
        assert [found[state] for state in STATES] == [SHARDS - 3, 3, 0, 0, 0, 0]
        assert (found["minga_slots"], found["minga_parameter_servers"]) == (3, 2)
        assert (found["minga_backlog"], found["minga_lost_updates_total"]) == (0, 0)
        await done(client, first)
        found = await asyncio.to_thread(figures, server)
        assert (found["done"], found["open"] + found["leased"]) == (1, SHARDS - 1)
        assert found["minga_units_returned_total"] == 1
