"""Predicts by `minga simulate` how much longer a preemptible fleet takes, for the same lives."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import structlog

from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import read_task_file
from backend.settings import ops_file
from backend.simulation.population import SimulatedPopulation
from backend.simulation.units.unit_trial import UnitTrial, try_units
from benchmarks.fleet.fleet_run import LEASE_SECONDS, FleetPlan

# The most that a task file may have.
MOST_PASSES = 1000


def predicted_ratio(task_file: Path, plan: FleetPlan, standard_seconds: float) -> float:
    """Returns the simulated seconds of the preemptible fleet over those of the standard one.

    Simulated devices have their own pace. So a unit has as many passes as let the simulated standard fleet
    take about `standard_seconds` of the trace, in which lives are measured. Simulated machines that replace
    others start as fast as devices load the model, without the start of TensorFlow.
    """
    # What a server logs is no part of the report.
    logging.getLogger("minga").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    usual = read_task_file(task_file).training.epochs or 1
    trial = UnitTrial(
        path=task_file,
        overrides=_overrides(plan, usual),
        population=SimulatedPopulation(plan.machines, 0.0, {"laptop": 1.0}, 100.0, 100.0, 1),
        epochs=plan.epochs,
        server_megabits=1000.0,
        seed=plan.seed,
    )
    allowed = read_allow_list(ops_file())
    first = try_units(trial, allowed).figures.seconds
    passes = min(MOST_PASSES, max(1, round(usual * standard_seconds / first)))
    trial = replace(trial, overrides=_overrides(plan, passes))
    standard = try_units(trial, allowed).figures.seconds
    preemptible = try_units(replace(trial, draw_life=plan.lives.draw), allowed).figures.seconds
    return preemptible / standard


def _overrides(plan: FleetPlan, passes: int) -> tuple[str, ...]:
    # A unit is as large as in the run, however long its passes take.
    units = "coordination.units"
    return (
        f"training.epochs={passes}",
        f"{units}.epochs={plan.epochs}",
        f"{units}.lease={LEASE_SECONDS}",
        f"{units}.seconds=86400",
    )
