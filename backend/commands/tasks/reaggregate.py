"""`minga task reaggregate`: what another rule would have made of the kept updates of a task's last rounds."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import quote

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from backend.commands.server_client import ServerClient, server_at
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.terminal.tables import indented, listing
from backend.commands.tokens import needed
from backend.errors import AggregationError
from backend.formats.task_file.robust import RuleName
from backend.server.tasks.formatting import size
from backend.web.pages.template_words import ENGLISH, counted

LOOK_SECONDS = 0.5
RUNNING = ("waiting", "running")
CAVEAT = (
    "Clients computed the updates of later rounds from the real versions, not from those of the other rule: "
    "with it they would have sent other updates."
)


def add_action(actions: Any, common: argparse.ArgumentParser) -> None:
    """Adds the action to `minga task`; `common` has the flags of all its actions."""
    parser: argparse.ArgumentParser = actions.add_parser(
        "reaggregate",
        parents=[common],
        help="show what another rule would have made of the last rounds' kept updates",
        examples=("minga task reaggregate digits --rule multi-krum --attackers 1",),
    )
    parser.add_argument("name", metavar="NAME", help="the task")
    parser.add_argument(
        "--rule",
        choices=get_args(RuleName),
        metavar="RULE",
        help="a rule, such as multi-krum; without one, the last report is shown",
    )
    parser.add_argument(
        "--attackers",
        type=int,
        metavar="F",
        help="false updates to bear in a round; default: the task's, or 1",
    )
    parser.add_argument(
        "--before", action="append", default=[], choices=("nnm", "arc"), help="a step before the rule"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Has the rule tried, waits, and prints the report. Raises MingaError."""
    server = server_at(args.server)
    server = server_at(args.server, needed(server.url))
    path = f"/api/tasks/{quote(args.name, safe='')}/reaggregation"
    report = _begin(server, path, args) if args.rule else server.get(path, "kept")
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        _print(Console(highlight=False), report)
    if report["state"] == "failed":
        raise AggregationError(report["reason"])
    return 0


def _begin(server: ServerClient, path: str, args: argparse.Namespace) -> dict[str, Any]:
    body = {"rule": args.rule, "attackers": args.attackers, "before": args.before}
    report = server.post(path, body, "kept")
    with TerminalProgress(f"{server.url} aggregates kept updates again.", quiet=args.json) as progress:
        try:
            while report["state"] in RUNNING:
                progress.amount(len(report["rounds"]), report["planned"])
                time.sleep(LOOK_SECONDS)
                report = server.get(path, "kept")
        except KeyboardInterrupt:
            server.send("DELETE", path)
            raise
    return report


def _print(console: Console, report: Mapping[str, Any]) -> None:
    kept = report["kept"]
    rounds = counted(len(kept["rounds"]), "round")
    console.print(f"Kept: {rounds} of at most {kept['most_rounds']}, {size(kept['bytes'])}.")
    if kept["problem"]:
        console.print(f"[yellow]{escape(kept['problem'])}[/yellow]")
    if not report["rounds"]:
        return
    console.print(f"{escape(report['rule'])}, made for attackers = {report['attackers']}:\n", soft_wrap=True)
    console.print(indented(_table(report)))
    console.print(f"\n{CAVEAT}", soft_wrap=True)


def _table(report: Mapping[str, Any]) -> Table:
    measured = ("accuracy", "loss")
    columns = [f">{name} {side}" for side in ("real", "other") for name in measured]
    table = listing("round", ">version", ">updates", *columns, ">distance", "left out by the other rule")
    for row in report["rounds"]:
        figures = [
            text for side in ("real", "tried") for text in _figures(row[side]["evaluation"], measured[0])
        ]
        table.add_row(
            str(row["round"]),
            str(row["made"]),
            str(row["updates"]),
            *figures,
            ENGLISH.decimal(row["distance"]),
            " ".join(row["tried"]["left_out"]) or "–",
        )
    return table


def _figures(evaluation: Mapping[str, Any] | None, metric: str) -> tuple[str, str]:
    if evaluation is None:
        return "–", "–"
    return ENGLISH.percent(evaluation["metrics"].get(metric)), ENGLISH.decimal(evaluation["loss"])
