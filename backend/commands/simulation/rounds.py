"""Simulates a task of rounds for `minga simulate`, with its variants."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from backend.commands.simulation.rounds_report import print_forecast
from backend.commands.terminal.progress import TerminalProgress
from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import TaskFile
from backend.settings import ops_file
from backend.simulation.advice import advice
from backend.simulation.plan_trial import PlanTrial, TrialResult, try_task
from backend.simulation.population import SimulatedPopulation
from backend.simulation.variants import variants

ROUNDS = 20


def simulate_rounds(
    args: argparse.Namespace, path: Path, file: TaskFile, population: SimulatedPopulation
) -> None:
    """Simulates the plan and its variants, and reports."""
    overrides = tuple(args.overrides)
    rounds = min(args.rounds or ROUNDS, file.coordination.rounds)
    trial = PlanTrial(path, overrides, population, rounds, args.server, args.seed, args.train)
    allowed = read_allow_list(ops_file())
    changes = ("", *(variants(file, population.clients) if args.variants else ()))
    results: list[tuple[str, TrialResult]] = []
    with TerminalProgress(f"Simulating {rounds} rounds.", quiet=args.json) as progress:
        for position, change in enumerate(changes):
            variant = replace(trial, overrides=(*overrides, change)) if change else trial
            before = rounds * position
            text = f"Simulating rounds with {change}" if change else "Simulating rounds"
            show = partial(_show, progress, text, before, rounds * len(changes))
            results.append((change, try_task(variant, allowed, show)))
    _report(args, file, population, results)


def _show(progress: TerminalProgress, text: str, before: int, total: int, rounds: int) -> None:
    progress.amount(before + rounds, total, text)


def _report(
    args: argparse.Namespace,
    file: TaskFile,
    population: SimulatedPopulation,
    results: list[tuple[str, TrialResult]],
) -> None:
    if args.json:
        (_, plan), *others = results
        report = {
            "task": file.name,
            "seed": args.seed,
            "population": asdict(population),
            "plan": asdict(plan.outcome),
            "advice": advice(plan.outcome, file),
            "trained": asdict(plan.trained) if plan.trained else None,
            "variants": [{"change": change, **asdict(variant.outcome)} for change, variant in others],
        }
        json.dump(report, sys.stdout, indent=1)
        sys.stdout.write("\n")
        return
    print_forecast(file, population, results, Console())
