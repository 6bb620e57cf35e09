"""What a Byzantine mesh bears: trainings of real machines and real work in one process, while liars attack.

Usage: python -m benchmarks.btard --table [--task digits|cifar10] [--peers 16] [--byzantine 7] [--rounds 900]
           [--seeds 3] [--starts 100 500] [--every 1 10] [--attacks A ...] [--defences D ...]
           [--runs-in FOLDER]
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
browsers, and their server. Elsewhere they run the machine of docs/decisions/0101-byzantine-rounds.md in
virtual time, without signatures, and validators do their targets' work again. The fields are explained in
docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks.support.training_run import ONE_CORE

# Before numpy.
os.environ.update(ONE_CORE)

from backend.errors import MingaError
from benchmarks.btard.ban_rounds import ban_rows
from benchmarks.btard.lying_members import LIES, STRATEGIES, lies_row, sybil_row
from benchmarks.btard.picture_task import TASKS, PictureTask, open_task
from benchmarks.btard.processes.churn import Churn, churn_figures
from benchmarks.btard.processes.engine_mesh import BACKENDS, EXACT, engine_figures
from benchmarks.btard.processes.findings import pair_table
from benchmarks.btard.round_costs import cost_rows
from benchmarks.btard.table import DEFENCES, Table, rows, run_table, summary, text_table
from benchmarks.btard.trial import Trial
from benchmarks.btard.work_attacks import ATTACKS, AttackPlan

# Rounds of a training of each kind, where none are given.
_TABLE_ROUNDS, _LIES_ROUNDS, _SYBIL_ROUNDS, _SYBIL_PEERS = 900, 200, 500, 8
_PROCESS_ROUNDS, _ENGINE_ROUNDS = 1500, 300


def main() -> int:
    """Runs what the options ask for; returns the exit status."""
    options = _options()
    if refusal := _refusal(options):
        print(refusal, file=sys.stderr)
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
        return {"rows": cost_rows(options.peers, options.parameters)}
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


def _refusal(options: argparse.Namespace) -> str | None:
    """Returns what is wrong with the options, None if nothing is."""
    chosen = [options.table, options.cost, bool(options.sybil), bool(options.lies), bool(options.attack)]
    chosen += [bool(options.churn), options.backends, options.exact]
    alone = options.validators is not None and not (options.table or options.attack)
    if sum(chosen) + alone != 1:
        return (
            "Give one of --table, --validators, --lies, --sybil, --cost, --attack, --churn, --backends "
            "and --exact."
        )
    if (options.backends or options.exact) and options.rounds == 1:
        return "The first validators judge in the second round; give more rounds."
    if options.attack and not 0 <= options.browsers < min(options.peers) - options.byzantine:
        return "Browsers are honest, and one honest member at least is a peer: give fewer."
    if options.figure is not None and options.figure.suffix != ".svg":
        return "A figure is an SVG: name a file that ends in .svg."
    liars = options.colluders + 1 if options.lies else options.byzantine
    if not 0 <= options.churn < 0.5:
        return "Less than half of the members may be away at a time."
    if min(options.peers) < 4 or not (options.cost or 1 <= 2 * liars < min(options.peers)):
        return "Give at least 4 peers; fewer than half of them, and one at least, are liars."
    counts = (options.seeds, options.runs, options.compute, options.start, *options.starts, *options.every)
    above = [one for one in (options.radius, options.radius_times, options.patience) if one is not None]
    if min(counts) < 1 or not all(one > 0 for one in above):
        return "Counts are 1 or more, and a radius is above 0, as are its factor and a patience."
    return None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.btard", description=__doc__)
    parser.add_argument("--table", action="store_true", help="every attack with every defence")
    parser.add_argument("--validators", type=int, nargs="+", help="rounds to the last ban with so many")
    parser.add_argument("--lies", nargs="+", choices=tuple(LIES), help="lies beside false work")
    parser.add_argument(
        "--owner-lies",
        dest="lies",
        action="store_const",
        const=["owner-lies", "owners-lie", "owner-lies-far"],
        help="means that are wrong by less, and by more, than `far`",
    )
    parser.add_argument("--sybil", type=int, default=0, help="so many newcomers of one owner")
    parser.add_argument("--cost", action="store_true", help="bytes and seconds of a member and round")
    parser.add_argument("--churn", type=float, default=0.0, help="share of real members away at a time")
    parser.add_argument("--backends", action="store_true", help="TensorFlow and four backends of Chromium")
    parser.add_argument("--exact", action="store_true", help="Node.js and three browsers on an exact task")
    parser.add_argument("--task", choices=TASKS, default="digits")
    parser.add_argument("--peers", type=int, nargs="+", default=[16], help="members with a seat")
    parser.add_argument("--byzantine", type=int, default=7, help="liars among them")
    parser.add_argument("--rounds", type=int, default=0, help="of a training")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of each kind in the table")
    parser.add_argument("--seed", type=int, default=0, help="of --lies and --sybil")
    parser.add_argument("--radius", type=float, help="per root of a part's size; measured if not given")
    parser.add_argument("--contiguous", action="store_true", help="parts are values one after another")
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    parser.add_argument("--defences", nargs="+", choices=DEFENCES, default=list(DEFENCES))
    parser.add_argument("--starts", type=int, nargs="+", default=[100, 500], help="first attacked rounds")
    parser.add_argument("--every", type=int, nargs="+", default=[1, 10], help="rounds from attack to attack")
    parser.add_argument("--runs", type=int, default=30, help="trainings for each number of validators")
    parser.add_argument("--runs-in", type=Path, help="a folder of finished trainings, to resume the table")
    parser.add_argument("--colluders", type=int, default=6, help="liars beside one that lies")
    parser.add_argument("--compute", type=int, default=4, help="updates a round that the Sybils' owner makes")
    parser.add_argument("--parameters", type=int, nargs="+", default=[100_000, 1_000_000])
    _add_process_options(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


def _add_process_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--attack", choices=ATTACKS, help="real processes, under this attack")
    parser.add_argument("--browsers", type=int, default=0, help="honest members that are pages of Chromium")
    parser.add_argument("--start", type=int, default=300, help="of --attack: the first attacked round")
    parser.add_argument("--patience", type=float, default=5.0, help="of --attack: that of members, seconds")
    parser.add_argument("--radius-times", type=float, help="of --attack: a fixed radius that much too large")
    parser.add_argument("--clean-processes", action="store_true", help="real ones without an attack, too")
    parser.add_argument("--figure", type=Path, help="of --attack: draws the curves into this SVG")


if __name__ == "__main__":
    sys.exit(main())
