"""`minga cost`: estimates the cost of a training on rented machines, and its energy."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console

from backend.commands.cost_report import print_cost
from backend.commands.server_client import ServerClient, add_server_option, keeps_secrets, server_at
from backend.commands.tokens import token_for
from backend.errors import NotFoundError, SettingsError
from backend.formats.manifest import parse_manifest
from backend.server.estimates.prices import DEFAULT_PRICES, Prices, read_prices
from backend.server.estimates.recorded_cost import Cost, cost_of
from backend.server.estimates.training_record import (
    TrainingRecord,
    of_rounds,
    of_units,
    read_record,
    read_results,
)

# Maximum number of rows that a server returns per request.
_MOST = 1000

# Shown at the end of the help.
EXAMPLES = ("minga cost digits --server https://minga.example.org",)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("cost", examples=EXAMPLES)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the task")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="the record of a simulation (minga simulate --record), instead of a server's task",
    )
    add_server_option(parser)
    parser.add_argument(
        "--prices",
        type=Path,
        default=DEFAULT_PRICES,
        metavar="FILE",
        help="your own price table; default: the built-in one",
    )
    parser.add_argument(
        "--instance", metavar="NAME", help="estimate for this machine of the table only; default: all"
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Reads the record, from a file or the server, and prints its cost. Raises MingaError."""
    prices = select_instance(read_prices(args.prices), args.instance)
    if (args.name is None) == (args.record is None):
        raise SettingsError("Give the name of a task, or the record of a simulation with --record.")
    record = _fetched(args) if args.record is None else read_record(args.record)
    if not record.work:
        raise NotFoundError(f"Nobody worked on {record.task} so far, so there is nothing to estimate.")
    cost = cost_of(record, prices)
    if args.json:
        print(json.dumps(_as_json(record, cost, prices)))
    else:
        print_cost(record, cost, prices, Console(highlight=False))
    return 0


def _fetched(args: argparse.Namespace) -> TrainingRecord:
    server = server_at(args.server)
    if keeps_secrets(server.url):
        server = replace(server, token=token_for(server.url))
    return training_record(server, args.name)


def training_record(server: ServerClient, task: str) -> TrainingRecord:
    """Fetches the server's records of a task's training. Raises MingaError."""
    summary = server.summary(task)
    with server.file(f"/blobs/{summary['bundle']}") as answer:
        manifest = parse_manifest(answer.read())
    path = f"/api/tasks/{quote(task, safe='')}"
    given = server.get(f"{path}/contributions", "contributions")
    contributions = given["contributions"]
    rounds = _rounds(server, path)
    if summary["scheme"] != "volunteer":
        return of_rounds(summary, manifest, rounds, contributions)
    with server.file(f"{path}/figures/assimilations.csv") as answer:
        results = read_results(answer.read().decode("utf-8"))
    return of_units(summary, manifest, rounds, contributions, results, given.get("traffic"))


def _rounds(server: ServerClient, path: str) -> list[dict[str, Any]]:
    """Fetches all rounds, oldest first."""
    collected: list[dict[str, Any]] = []
    before = ""
    while page := server.get(f"{path}/rounds?last={_MOST}{before}", "rounds")["rounds"]:
        collected = [*page, *collected]
        before = f"&before={page[0]['round']}"
    return collected


def select_instance(prices: Prices, name: str | None) -> Prices:
    """Returns the table with the machine of this name only; None: with all. Raises SettingsError."""
    if name is None:
        return prices
    matches = [instance for instance in prices.instances if instance.name == name]
    if not matches:
        names = ", ".join(instance.name for instance in prices.instances)
        raise SettingsError(f"The table of prices has no machine '{name}'; it has: {names}.")
    return Prices(matches, prices.traffic, prices.energy)


def _as_json(record: TrainingRecord, cost: Cost, prices: Prices) -> dict[str, Any]:
    return {
        "task": record.task,
        "scheme": record.scheme,
        "passes": record.passes,
        "seconds": record.seconds,
        "busy_seconds": record.busy,
        "rented_seconds": record.there,
        "bytes_down": record.down,
        "bytes_up": record.up,
        "flops": record.flops,
        "clients": [asdict(client) for client in record.work],
        "fleets": [{**asdict(fleet), "saved": fleet.saved} for fleet in cost.fleets],
        "traffic_dollars": cost.traffic,
        "energy": asdict(cost.energy),
        "prices": [
            {
                "name": instance.name,
                "date": instance.date,
                "looked_up": instance.looked_up,
                "source": instance.source,
            }
            for instance in prices.instances
        ],
    }
