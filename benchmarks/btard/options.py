"""The options of benchmarks.btard, and what is wrong with them."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.btard.lying_members import LIES
from benchmarks.btard.picture_task import TASKS
from benchmarks.btard.table import DEFENCES
from benchmarks.btard.work_attacks import ATTACKS


def refusal(options: argparse.Namespace) -> str | None:
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
    if not set(options.by_processes) <= set(options.starts):
        return "Rounds given with --by-processes are some of those given with --starts."
    if options.by_processes and options.contiguous:
        return "Parts of real members have values of all layers: leave out --contiguous."
    if options.figure is not None and options.figure.suffix != ".svg":
        return "A figure is an SVG: name a file that ends in .svg."
    liars = options.colluders + 1 if options.lies else options.byzantine
    if not 0 <= options.churn < 0.5:
        return "Less than half of the members may be away at a time."
    if min(options.peers) < 4 or not (options.cost or 1 <= 2 * liars < min(options.peers)):
        return "Give at least 4 peers; fewer than half of them, and one at least, are liars."
    counts = (options.seeds, options.runs, options.compute, options.start, *options.starts, *options.every)
    given = (options.radius, options.radius_times, options.patience, options.mbit)
    above = [one for one in given if one is not None]
    if min(counts) < 1 or not all(one > 0 for one in above):
        return "Counts are 1 or more, and a radius is above 0, as are its factor, a patience and a line."
    return None


def read_options(description: str | None) -> argparse.Namespace:
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.btard", description=description)
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
    parser.add_argument("--repetitions", type=int, default=5, help="turns of --cost with real processes")
    parser.add_argument("--mbit", type=float, help="of --cost: each process has such a line (as root)")
    _add_process_options(parser)
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


def _add_process_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--attack", choices=ATTACKS, help="real processes, under this attack")
    parser.add_argument("--browsers", type=int, default=0, help="honest members that are pages of Chromium")
    parser.add_argument("--start", type=int, default=300, help="of --attack: the first attacked round")
    parser.add_argument(
        "--by-processes",
        type=int,
        nargs="+",
        default=[],
        help="of --table: BTARD is attacked from these --starts on by real processes",
    )
    parser.add_argument("--patience", type=float, default=5.0, help="of real members, seconds")
    parser.add_argument("--radius-times", type=float, help="of --attack: a fixed radius that much too large")
    parser.add_argument("--clean-processes", action="store_true", help="real ones without an attack, too")
    parser.add_argument("--figure", type=Path, help="of --attack: draws the curves into this SVG")
