"""What a Byzantine mesh bears: trainings of real machines and real work in one process, while liars attack.

Usage: python -m benchmarks.btard --table [--task digits|cifar10] [--peers 16] [--byzantine 7] [--rounds 900]
           [--seeds 3] [--starts 100 500] [--every 1 10] [--attacks A ...] [--defences D ...]
           [--by-processes 100] [--runs-in FOLDER]
       python -m benchmarks.btard --validators 1 2 --runs 30
       python -m benchmarks.btard --lies false-accuser equivocation no-reveal [--colluders 6]
       python -m benchmarks.btard --owner-lies --colluders 6
       python -m benchmarks.btard --sybil 40 --compute 4
       python -m benchmarks.btard --cost --peers 8 16 --parameters 100000 1000000
       python -m benchmarks.btard --attack sign [--browsers 2] [--rounds 1500] [--start 300] [--patience 5]
           [--radius-times 10] [--clean-processes] [--figure FILE.svg] [--runs-in FOLDER]
       python -m benchmarks.btard --backends [--rounds 300]
       python -m benchmarks.btard --exact [--rounds 300]
       python -m benchmarks.btard --churn 0.3 [--seed N]

Each takes --json. With --attack, --backends, --exact and --churn members are real processes: peers, pages of
browsers, and their server. So are those of the table's BTARD under attacks from rounds --by-processes on.
Elsewhere they run the machine of docs/decisions/0101-byzantine-rounds.md in virtual time, without signatures,
and validators do their targets' work again; --cost runs real processes beside it, with links and signatures,
in turns with benchmarks.allreduce. The fields are explained in docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.support.training_run import ONE_CORE

# Before numpy.
os.environ.update(ONE_CORE)

from backend.errors import MingaError
from benchmarks.btard.ban_rounds import ban_rows
from benchmarks.btard.lying_members import lies_row
from benchmarks.btard.options import read_options, refusal
from benchmarks.btard.picture_task import PictureTask, open_task
from benchmarks.btard.processes.churn import Churn, churn_figures
from benchmarks.btard.processes.engine_mesh import BACKENDS, EXACT, engine_figures
from benchmarks.btard.processes.exchange_seconds import exchange_rows
from benchmarks.btard.processes.findings import pair_table
from benchmarks.btard.round_costs import cost_rows
from benchmarks.btard.sybils import STRATEGIES, sybil_row
from benchmarks.btard.table import Table, rows, run_table, summary, text_table
from benchmarks.btard.trial import Trial
from benchmarks.btard.work_attacks import AttackPlan

# Rounds of a training of each kind, where none are given.
_TABLE_ROUNDS, _LIES_ROUNDS, _SYBIL_ROUNDS, _SYBIL_PEERS = 900, 200, 500, 8
_PROCESS_ROUNDS, _ENGINE_ROUNDS = 1500, 300


def main() -> int:
    """Runs what the options ask for; returns the exit status."""
    options = read_options(__doc__)
    if wrong := refusal(options):
        print(wrong, file=sys.stderr)
        return 2
    try:
        figures = _figures(options)
    except MingaError as error:
        print(error, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(figures))
    else:
        _print(figures)
    return 0


def _figures(options: argparse.Namespace) -> dict[str, Any]:
    peers, seed = options.peers[0], options.seed
    if options.churn:
        return {"rows": [churn_figures(Churn(share=options.churn, seed=seed))]}
    if options.cost:
        return {"rows": list(_costs(options))}
    if options.backends or options.exact:
        return engine_figures(EXACT if options.exact else BACKENDS, options.rounds or _ENGINE_ROUNDS)
    task = open_task(options.task)
    settings = {"task": task.name, "parameters": task.parameters, "peers": peers}
    if options.attack:
        return settings | {"byzantine": options.byzantine, "rows": [_process_row(options, task)]}
    if options.validators is not None and not options.table:
        found = ban_rows(task, peers, options.byzantine, options.validators, options.runs)
        return settings | {"byzantine": options.byzantine, "rows": found}
    if options.sybil:
        rounds = options.rounds or _SYBIL_ROUNDS
        found = [
            sybil_row(task, _SYBIL_PEERS, options.sybil, options.compute, rounds, strategy, seed)
            for strategy in STRATEGIES
        ]
        return settings | {"peers": _SYBIL_PEERS, "rows": found}
    if options.lies:
        rounds = options.rounds or _LIES_ROUNDS
        found = [
            lies_row(task, name, peers, options.colluders + 1, rounds, seed, options.radius)
            for name in options.lies
        ]
        return settings | {"rows": found}
    table = Table(
        task,
        options.rounds or _TABLE_ROUNDS,
        peers,
        options.byzantine,
        options.validators[0] if options.validators else 1,
        options.radius,
        options.defences,
        options.attacks,
        options.starts,
        options.every,
        options.seeds,
        options.contiguous,
        options.by_processes,
        options.patience,
    )
    found = rows(run_table(table, options.runs_in))
    settings |= {"byzantine": options.byzantine, "rounds": table.rounds, "seeds": options.seeds}
    return settings | summary(found, options.byzantine) | {"rows": found}


def _process_row(options: argparse.Namespace, task: PictureTask) -> dict[str, Any]:
    # Brings with it all that a peer needs, and a browser's driver.
    from benchmarks.btard.processes.comparison import ProcessComparison, comparison_figure, comparison_row

    trial = Trial(
        task,
        options.rounds or _PROCESS_ROUNDS,
        options.seed,
        peers=options.peers[0],
        byzantine=options.byzantine,
        attack=AttackPlan(options.attack, options.start, options.every[0]),
        radius=options.radius,
        validators=options.validators[0] if options.validators else 1,
    )
    comparison = ProcessComparison(
        trial,
        options.browsers,
        options.patience,
        options.radius_times,
        options.clean_processes,
        options.runs_in,
    )
    results = comparison.results()
    if options.figure is not None:
        options.figure.write_text(comparison_figure(comparison, results), "utf-8")
    return comparison_row(comparison, results)


def _costs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for peers in options.peers:
        measured = exchange_rows(peers, options.parameters, options.repetitions, options.mbit)
        for row, seconds in zip(cost_rows([peers], options.parameters), measured, strict=True):
            yield row | seconds


def _print(figures: dict[str, Any]) -> None:
    found = figures["rows"]
    if "defence" in found[0]:
        print(text_table(found), "\n")
    elif "validator" in found[0]:
        print(pair_table(found), "\n")
    else:
        for row in found:
            print(", ".join(f"{name} {value}" for name, value in row.items()))
    print("\n".join(f"{name}: {value}" for name, value in figures.items() if name != "rows"))


if __name__ == "__main__":
    sys.exit(main())
