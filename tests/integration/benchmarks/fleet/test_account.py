"""What a fleet's steps led to, from the server's log and the reports of peers; and what both fleets cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.server.estimates.prices import read_prices
from backend.server.estimates.training_record import ClientWork, TrainingRecord
from benchmarks.fleet.account import StepAccount, account
from benchmarks.fleet.fleet_run import FleetRun
from benchmarks.fleet.machine import PeerLife
from benchmarks.fleet.report import compare, rows


def life(folder: Path, number: int, reports: Sequence[dict[str, Any]], *, killed: bool = False) -> PeerLife:
    """A peer's life with these reports, the last of which a kill cut off."""
    path = folder / f"events-{number}.jsonl"
    path.write_text("".join(f"{json.dumps(report)}\n" for report in reports) + '{"event": "st')
    return PeerLife(number, path, began=0.0, ended=10.0, killed=killed)


def trained(lease: int, at: float, steps: int) -> list[dict[str, Any]]:
    """One step a second."""
    return [
        {"event": "training", "lease": lease, "at": at},
        *({"event": "step", "step": step, "at": at + step} for step in range(1, steps + 1)),
    ]


def log(folder: Path, *events: dict[str, Any]) -> Path:
    path = folder / "server.log"
    path.write_text("Listening.\n" + "".join(f"{json.dumps(event)}\n" for event in events))
    return path


def leased(lease: int, unit: int) -> dict[str, Any]:
    return {"event": "unit leased", "lease": lease, "unit": unit, "client": "a"}


def counted(lease: int, *, blended: bool = True) -> list[dict[str, Any]]:
    here = {"event": "result here", "lease": lease, "late": False}
    return [here, {"event": "result counted", "lease": lease, "blended": blended}]


def test_steps_of_killed_peers_are_lost_and_those_of_superfluous_results_wasted(tmp_path: Path) -> None:
    killed = life(tmp_path, 0, [*trained(1, 0.0, 4), *trained(2, 5.0, 3)], killed=True)
    other = life(tmp_path, 1, [*trained(3, 0.0, 4), *trained(4, 6.0, 2)])
    # Unit 8 was dealt to the killed peer and again; the result of lease 4 came after another's.
    events = [leased(1, 7), leased(2, 8), leased(3, 8), leased(4, 9), leased(5, 10)]
    events += [*counted(1), *counted(3), *counted(4, blended=False)]
    found = account(log(tmp_path, *events), [killed, other])
    assert found == StepAccount(
        steps=13, lost=3, wasted=5, leases=5, units_dealt_twice=1, results=2, busy={0: 7.0, 1: 6.0}
    )


def run(seconds: float, there: float, accuracy: float) -> FleetRun:
    work = ClientWork("machine 1", "peer", "tensorflow", 10, 1, busy=there, there=there)
    record = TrainingRecord("t", "volunteer", 1, seconds, (work, work), down=0, up=0, flops=0.0)
    done = StepAccount(10, 0, 0, 1, 0, 1, {})
    return FleetRun(seconds / 60, 5.0, accuracy, done, 0, 2, [], record)


def test_ratios_are_those_of_the_preemptible_fleet_over_the_standard_one() -> None:
    prices = read_prices()
    first, *_, last = prices.instances
    cheap = replace(run(7200.0, 5400.0, 0.45), kills=3, starts=[4.0, 6.0], processor=6.0)
    report = compare({}, run(3600.0, 3600.0, 0.5), cheap, prices, predicted=1.5)
    assert (report.seconds_ratio, report.processor_ratio, report.accuracy_gap) == (2.0, 1.2, 0.05)
    dollars = [one.standard_dollars for one in report.costs]
    assert dollars == [pytest.approx(3 * one.standard) for one in prices.instances]
    cost = 2 * first.standard + 3 * first.preemptible
    assert report.cost_ratio == pytest.approx(cost / (3 * first.standard), abs=1e-3)
    without_server = 1.5 * last.preemptible / last.standard
    assert report.costs[-1].machines_cost_ratio == pytest.approx(without_server, abs=1e-3)
    assert report.costs[-1].day.endswith("not looked up")
    assert (report.preemptible.start_seconds, report.standard.start_seconds) == (5.0, None)
    assert "cost_ratio" in "\n".join(rows(report))
    assert "| n1-standard-4 | 2018-07-06, not looked up |" in "\n".join(rows(report))
