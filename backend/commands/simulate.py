"""`minga simulate`: tries a task's plan with simulated clients before its launch."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import structlog

from backend.commands.number_arguments import number
from backend.commands.simulation.rounds import ROUNDS, simulate_rounds
from backend.commands.simulation.units import simulate_units
from backend.commands.tasks.task_path import task_file_at
from backend.errors import SettingsError, TaskFileError
from backend.formats.task_file import TaskFile, read_task_file
from backend.protocols.units.server_pool import PoolRules
from backend.server.estimates.devices import DeviceName
from backend.settings import read_pool
from backend.simulation.population import SimulatedPopulation
from backend.simulation.units.store_costs import StoreName
from backend.wire.unit_messages import MOST_SLOTS

MAX_CLIENTS = 2000
EXAMPLES_EACH = 200

# Shown at the end of the help.
EXAMPLES = (
    "minga simulate digits",
    "minga simulate flowers --clients 50 --churn 0.3 --variants",
    "minga simulate text-lstm --life 3600 --store redis --parameter-servers 3",
)


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
        help="share of the plans or units whose client drops out while working on them; default 0.1",
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
        metavar="N",
        help="rounds: examples of the median volunteer, if volunteers bring their own data; default "
        f"{EXAMPLES_EACH}",
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
        "--variants",
        action="store_true",
        help="rounds: also simulate half and double the deadline and the quorum",
    )
    parser.add_argument(
        "--train",
        action="store_true",
        help="rounds: really train with TensorFlow on this machine and show the curve, as slow as that is",
    )
    _add_unit_flags(parser)
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def _add_unit_flags(parser: argparse.ArgumentParser) -> None:
    units = parser.add_argument_group("work units")
    units.add_argument(
        "--epochs", type=_positive, metavar="N", help="simulate fewer epochs; default: the task's"
    )
    units.add_argument(
        "--at-once", type=_units, metavar="N", help="units that a client trains at a time; default 1"
    )
    units.add_argument(
        "--store",
        choices=get_args(StoreName),
        help="store of the parameters, with the measured time of a result; default memory",
    )
    units.add_argument(
        "--parameter-servers",
        type=_pool,
        metavar="P",
        help="3, or a range such as 1-4 that follows the load; default 1-4",
    )
    units.add_argument(
        "--server-cores",
        type=_positive,
        metavar="N",
        help="cores that the parameter servers share; default: each has one of its own",
    )
    units.add_argument(
        "--evaluation",
        type=_seconds,
        metavar="SECONDS",
        help="core time in which a parameter server evaluates the model after each result; default: none",
    )
    units.add_argument(
        "--life",
        type=_seconds,
        metavar="SECONDS",
        help="mean life of a client, at whose end it is preempted; default: none is",
    )
    units.add_argument(
        "--trace",
        type=Path,
        metavar="FILE",
        help="draw the clients' lives from this file: CSV, one number of seconds a line, or a JSON list",
    )
    units.add_argument(
        "--record", type=Path, metavar="FILE", help="write a record for minga cost --record FILE"
    )


@dataclass(frozen=True)
class SchemeSimulation:
    """The simulation of one scheme, whose clients work in `words`; `flags` are those that only it has."""

    words: str
    flags: frozenset[str]
    run: Callable[[argparse.Namespace, Path, TaskFile, SimulatedPopulation], None]


SIMULATIONS: dict[str, SchemeSimulation] = {
    "federated": SchemeSimulation(
        "rounds", frozenset({"rounds", "examples", "variants", "train"}), simulate_rounds
    ),
    "volunteer": SchemeSimulation(
        "work units",
        frozenset(
            {
                "epochs",
                "at_once",
                "store",
                "parameter_servers",
                "server_cores",
                "evaluation",
                "life",
                "trace",
                "record",
            }
        ),
        simulate_units,
    ),
}


def run(args: argparse.Namespace) -> int:
    """Simulates the task by its scheme, and reports."""
    # What a server logs, as abandoned rounds, is counted in the report.
    logging.getLogger("minga").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    path = task_file_at(args.task)
    file = read_task_file(path, tuple(args.overrides))
    simulation = SIMULATIONS.get(file.coordination.scheme)
    if simulation is None:
        raise TaskFileError(
            f"{path}: a decentralized task cannot be simulated: simulated clients talk to a server only. "
            "Try it with real peers: `minga serve` and, several times, `minga peer join`."
        )
    _check_flags(args, simulation)
    population = SimulatedPopulation(
        args.clients, args.churn, args.devices, args.upload, args.download, args.examples or EXAMPLES_EACH
    )
    simulation.run(args, path, file, population)
    return 0


def _check_flags(args: argparse.Namespace, simulation: SchemeSimulation) -> None:
    """Raises SettingsError for a flag that another scheme has, and this one has not."""
    for other in SIMULATIONS.values():
        for name in sorted(other.flags - simulation.flags):
            if getattr(args, name) not in (None, False):
                raise SettingsError(
                    f"--{name.replace('_', '-')} goes with tasks of {other.words}, and this one has "
                    f"{simulation.words}; leave it out."
                )


def _clients(text: str) -> int:
    number = _positive(text)
    if number > MAX_CLIENTS:
        raise argparse.ArgumentTypeError(f"a task holds at most {MAX_CLIENTS} clients at once")
    return number


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least 1")
    return int(text)


def _units(text: str) -> int:
    number = _positive(text)
    if number > MOST_SLOTS:
        raise argparse.ArgumentTypeError(f"a client holds at most {MOST_SLOTS} units")
    return number


def _seconds(text: str) -> float:
    value = number(text)
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a time; give seconds above 0")
    return value


def _pool(text: str) -> PoolRules:
    try:
        return read_pool(text)
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


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
