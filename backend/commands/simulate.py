"""`minga simulate`: tries a task's plan with simulated clients before its launch."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

from rich.console import Console

from backend.commands.number_arguments import number
from backend.commands.simulation_report import print_forecast
from backend.commands.tasks.task_path import task_file_at
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import TaskFileError
from backend.formats.op_allowlist import read_allow_list
from backend.formats.task_file import TaskFile, read_task_file
from backend.server.estimates.devices import DeviceName
from backend.settings import ops_file
from backend.simulation.advice import advice
from backend.simulation.plan_trial import PlanTrial, TrialResult, try_task
from backend.simulation.population import SimulatedPopulation
from backend.simulation.variants import variants

ROUNDS = 20
MAX_CLIENTS = 2000

# Shown at the end of the help.
EXAMPLES = ("minga simulate digits", "minga simulate flowers --clients 50 --churn 0.3 --variants")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("simulate", examples=EXAMPLES)
    parser.add_argument(
        "task", type=Path, metavar="PATH", help="a task file, its folder, or a gallery's task"
    )
    parser.add_argument("--clients", type=_clients, default=100, metavar="N", help="default 100")
    parser.add_argument(
        "--churn",
        type=_share,
        default=0.1,
        metavar="SHARE",
        help="share of the plans whose client drops out while working on them; default 0.1",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the run; the same seed repeats it"
    )
    parser.add_argument(
        "--rounds", type=_positive, metavar="N", help=f"default {ROUNDS}, or the task's rounds if fewer"
    )
    parser.add_argument(
        "--devices",
        type=_devices,
        default="phone=40,laptop=50,gpu=10",
        metavar="MIX",
        help="shares of phones, laptops and computers with a graphics card; default %(default)s",
    )
    parser.add_argument(
        "--examples",
        type=_positive,
        default=200,
        metavar="N",
        help="examples of the median volunteer, if volunteers bring their own data; default 200",
    )
    parser.add_argument(
        "--upload", type=_rate, default=10.0, metavar="MBIT", help="median; default 10 Mbit/s"
    )
    parser.add_argument(
        "--download", type=_rate, default=50.0, metavar="MBIT", help="median; default 50 Mbit/s"
    )
    parser.add_argument(
        "--server",
        type=_rate,
        default=1000.0,
        metavar="MBIT",
        help="bandwidth of the server; default 1000 Mbit/s",
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="replaces a value of the task file",
    )
    parser.add_argument(
        "--variants", action="store_true", help="also simulate half and double the deadline and the quorum"
    )
    parser.add_argument(
        "--train",
        action="store_true",
        help="really train with TensorFlow on this machine and show the curve: as slow as training is",
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Simulates the plan and its variants, and reports."""
    # Abandoned rounds are counted in the report, so their log lines are suppressed.
    logging.getLogger("minga").setLevel(logging.CRITICAL)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    path = task_file_at(args.task)
    overrides = tuple(args.overrides)
    file = read_task_file(path, overrides)
    if file.coordination.decentralized:
        raise TaskFileError(
            f"{path}: a decentralized task cannot be simulated: simulated clients talk to a server only. "
            "Try it with real peers: `minga serve` and, several times, `minga peer join`."
        )
    if file.coordination.volunteer:
        raise TaskFileError(
            f"{path}: the work units of a volunteer task cannot be simulated: simulated clients take part in "
            "rounds. The plan page of a draft says how many units an epoch has, how often each is done and "
            "what that costs. Or try it with real peers: `minga serve` and, twice at least, `minga peer "
            "join`."
        )
    population = SimulatedPopulation(
        args.clients, args.churn, args.devices, args.upload, args.download, args.examples
    )
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
    return 0


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


def _clients(text: str) -> int:
    number = _positive(text)
    if number > MAX_CLIENTS:
        raise argparse.ArgumentTypeError(f"a task holds at most {MAX_CLIENTS} clients at once")
    return number


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def _share(text: str) -> float:
    value = number(text)
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share; give a number from 0 to 1")
    return value


def _rate(text: str) -> float:
    value = number(text)
    if not 0.01 <= value <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a rate; give Mbit/s from 0.01 to 1000000")
    return value


def _devices(text: str) -> dict[DeviceName, float]:
    """Parses shares of devices such as `phone=40,laptop=60`."""
    device_names: tuple[DeviceName, ...] = get_args(DeviceName)
    shares: dict[DeviceName, float] = {}
    for part in text.split(","):
        word, _, amount = part.strip().partition("=")
        matches = [name for name in device_names if name == word]
        if not matches:
            raise argparse.ArgumentTypeError(
                f"'{word}' is not a device; write shares of {', '.join(device_names)}, "
                "such as phone=40,laptop=60"
            )
        shares[matches[0]] = number(amount or "1")
    if not all(0.0 <= share < float("inf") for share in shares.values()) or not sum(shares.values()):
        raise argparse.ArgumentTypeError(f"'{text}' has no shares above 0")
    return shares
