"""Simulates a task of work units for `minga simulate`, and records what its cost is computed from."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from backend.commands.simulation.units_report import print_units
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import SettingsError
from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import TaskFile
from backend.protocols.units.server_pool import PoolRules
from backend.server.estimates.training_record import write_record
from backend.settings import ops_file
from backend.simulation.population import SimulatedPopulation
from backend.simulation.units.advice import unit_advice
from backend.simulation.units.life_times import DrawLife, exponential_lives, read_trace, recorded_lives
from backend.simulation.units.training_record import record_of
from backend.simulation.units.unit_trial import UnitTrial, try_units


def simulate_units(
    args: argparse.Namespace, path: Path, file: TaskFile, population: SimulatedPopulation
) -> None:
    """Simulates the plan, writes the record if one is asked for, and reports."""
    trial = UnitTrial(
        path=path,
        overrides=tuple(args.overrides),
        population=population,
        epochs=min(args.epochs or file.coordination.rounds, file.coordination.rounds),
        server_megabits=args.server,
        seed=args.seed,
        at_once=args.at_once or 1,
        store=args.store or "memory",
        servers=args.parameter_servers or PoolRules(),
        draw_life=_lives(args.life, args.trace),
        server_cores=args.server_cores,
        evaluation=args.evaluation or 0.0,
    )
    allowed = read_allow_list(ops_file())
    with TerminalProgress("Simulating work units.", quiet=args.json) as progress:
        result = try_units(
            trial, allowed, lambda done, all_units: progress.amount(done, all_units, "Simulating work units")
        )
    if args.record is not None:
        write_record(args.record, record_of(result))
    if args.json:
        report = {
            "task": file.name,
            "scheme": file.coordination.scheme,
            "seed": args.seed,
            "population": asdict(population),
            "store": trial.store,
            "plan": asdict(result.figures),
            "advice": unit_advice(result.figures, trial.store),
        }
        json.dump(report, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    print_units(file, trial, result.figures, Console())


def _lives(mean: float | None, trace: Path | None) -> DrawLife | None:
    if mean is not None and trace is not None:
        raise SettingsError("--life and --trace both say how long machines live; leave one out.")
    if trace is not None:
        return recorded_lives(read_trace(trace))
    return None if mean is None else exponential_lives(mean)
