"""Compares a preemptible fleet with a standard one: time, dollars, accuracy, and work in vain."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from typing import Any

from backend.server.estimates.prices import Prices
from backend.server.estimates.recorded_cost import cost_of
from benchmarks.fleet.fleet_run import FleetRun

# Atre, Jha, Rao 2021: 70 % cheaper on preemptible machines.
PAPER_COST_RATIO = 0.30


@dataclass(frozen=True)
class FleetFigures:
    """What one fleet took. Seconds are those of the run; steps are those of all peers.

    `processor_seconds` are the peers'. `start_seconds` pass on average from a replacement's start to its
    first unit; None without replacements. `rented_hours` and `busy_hours` are those of all machines in the
    time of the trace: there, and with a unit in training.
    """

    seconds: float
    processor_seconds: float
    accuracy: float
    kills: int
    processes: int
    start_seconds: float | None
    leases: int
    units_dealt_twice: int
    results: int
    steps: int
    lost_steps: int
    wasted_steps: int
    rented_hours: float
    busy_hours: float


@dataclass(frozen=True)
class FleetCost:
    """Dollars of both fleets on one kind of machine, a standard one for the server included.

    `machines_cost_ratio` leaves the server out. `day` says when prices were looked up, or that they were not.
    """

    instance: str
    day: str
    source: str
    standard_dollars: float
    preemptible_dollars: float
    cost_ratio: float
    machines_cost_ratio: float


@dataclass(frozen=True)
class Report:
    """Both fleets and their ratios, the preemptible one's over the standard one's.

    `cost_ratio` is that of the first of `costs`. `predicted_seconds_ratio` is the simulation's for the same
    lives; None where it was not asked. `settings` are the run's.
    """

    settings: dict[str, Any]
    standard: FleetFigures
    preemptible: FleetFigures
    seconds_ratio: float
    processor_ratio: float
    cost_ratio: float
    paper_cost_ratio: float
    accuracy_gap: float
    costs: list[FleetCost]
    predicted_seconds_ratio: float | None = None


def compare(
    settings: dict[str, Any],
    standard: FleetRun,
    preemptible: FleetRun,
    prices: Prices,
    predicted: float | None = None,
) -> Report:
    """Returns the report of a run. `accuracy_gap` is what the preemptible fleet lacks."""
    costs = _costs(standard, preemptible, prices)
    return Report(
        settings=settings,
        standard=_figures(standard),
        preemptible=_figures(preemptible),
        seconds_ratio=_ratio(preemptible.seconds, standard.seconds),
        processor_ratio=_ratio(preemptible.processor, standard.processor),
        cost_ratio=costs[0].cost_ratio,
        paper_cost_ratio=PAPER_COST_RATIO,
        accuracy_gap=round(standard.accuracy - preemptible.accuracy, 4),
        costs=costs,
        predicted_seconds_ratio=None if predicted is None else round(predicted, 3),
    )


def _figures(run: FleetRun) -> FleetFigures:
    done, record = run.account, run.record
    return FleetFigures(
        seconds=round(run.seconds, 1),
        processor_seconds=round(run.processor, 1),
        accuracy=round(run.accuracy, 4),
        kills=run.kills,
        processes=run.processes,
        start_seconds=round(statistics.mean(run.starts), 1) if run.starts else None,
        leases=done.leases,
        units_dealt_twice=done.units_dealt_twice,
        results=done.results,
        steps=done.steps,
        lost_steps=done.lost,
        wasted_steps=done.wasted,
        rented_hours=round(record.there / 3600.0, 2),
        busy_hours=round(record.busy / 3600.0, 2),
    )


def _costs(standard: FleetRun, preemptible: FleetRun, prices: Prices) -> list[FleetCost]:
    """Returns the costs that `minga cost` computes of both records."""
    fleets = (cost_of(run.record, prices).fleets for run in (standard, preemptible))
    costs = []
    for instance, usual, cheap in zip(prices.instances, *fleets, strict=True):
        both = (usual.server + usual.standard_rented, cheap.server + cheap.preemptible_rented)
        costs.append(
            FleetCost(
                instance=instance.name,
                day=instance.day,
                source=instance.source,
                standard_dollars=round(both[0], 4),
                preemptible_dollars=round(both[1], 4),
                cost_ratio=_ratio(both[1], both[0]),
                machines_cost_ratio=_ratio(cheap.preemptible_rented, usual.standard_rented),
            )
        )
    return costs


def _ratio(one: float, other: float) -> float:
    return round(one / other, 3) if other else 0.0


def rows(report: Report) -> list[str]:
    """Returns the figures for people, in Markdown."""
    usual, cheap = asdict(report.standard), asdict(report.preemptible)
    table = ["| | standard | preemptible |", "|---|---|---|"]
    table += [f"| {name.replace('_', ' ')} | {usual[name]} | {cheap[name]} |" for name in usual]
    table += ["", "| machines | prices of | standard, $ | preemptible, $ | ratio | without server |"]
    table += ["|---|---|---|---|---|---|"]
    table += [
        f"| {one.instance} | {one.day} | {one.standard_dollars} | {one.preemptible_dollars} | "
        f"{one.cost_ratio} | {one.machines_cost_ratio} |"
        for one in report.costs
    ]
    ratios = ("seconds_ratio", "processor_ratio", "cost_ratio", "paper_cost_ratio", "accuracy_gap")
    names = (*ratios, "predicted_seconds_ratio")
    return [*table, "", *(f"{name} {getattr(report, name)}" for name in names)]
