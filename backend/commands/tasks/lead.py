"""`minga task pause` and similar commands: owners manage tasks of a running server with an API token."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from backend.commands.server_client import ServerClient, server_at
from backend.commands.tokens import needed
from backend.protocols.tasks.task_life import Order
from backend.server.tasks.formatting import number

ORDERS = {
    Order.LAUNCH: "a tested task goes live",
    Order.PAUSE: "no round opens and no work unit goes out; participants wait",
    Order.RESUME: "training goes on after a pause, a finish or a stop",
    Order.FINISH: "the open round or epoch is the last",
    Order.STOP: "ends it at once; what is being trained does not count",
    Order.ARCHIVE: "puts an ended task away: nobody takes part, its versions stay",
    Order.RESTORE: "takes an archive back, or an earlier version of the model",
}
TREATMENTS = {
    "remove": "sends a participant away; it may come back",
    "ban": "sends a participant away and lets it in no more",
    "unban": "lets a participant in again",
}


def add_actions(actions: Any, common: argparse.ArgumentParser) -> None:
    """Adds the actions to `minga task`; `common` has the flags of all its actions."""
    for order, words in ORDERS.items():
        parser = _named(actions, order, common, words)
        parser.add_argument(
            "--reason", default="", metavar="TEXT", help="what participants and others are told"
        )
        if order is Order.PAUSE:
            parser.add_argument(
                "--now",
                action="store_true",
                help="open rounds and work units end at once, for nothing; else they end in their own time",
            )
        if order is Order.RESTORE:
            parser.add_argument(
                "version",
                metavar="VERSION",
                type=int,
                nargs="?",
                help="a version that is kept: it becomes the newest again",
            )
        parser.set_defaults(act=_order, order=str(order), now=False, version=None)
    listing = _named(actions, "participants", common, "who is here, who is kept out, who helped most")
    listing.set_defaults(act=_participants)
    for act, words in TREATMENTS.items():
        parser = _named(actions, act, common, words)
        parser.add_argument("client", metavar="CLIENT", help="its id, as `minga task participants` lists it")
        if act == "ban":
            parser.add_argument("--reason", default="", metavar="TEXT", help="a note for yourself")
        parser.set_defaults(act=_treat, treatment=act, reason="")


def run(args: argparse.Namespace) -> int:
    """Runs the action. Raises MingaError."""
    server = server_at(args.server)
    args.act(server_at(args.server, needed(server.url)), args)
    return 0


def _named(actions: Any, name: str, common: argparse.ArgumentParser, words: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, parents=[common], help=words)
    parser.add_argument("name", metavar="NAME", help="the task")
    parser.set_defaults(run=run)
    return parser


def _order(server: ServerClient, args: argparse.Namespace) -> None:
    if args.version is not None:
        _restore_version(server, args)
        return
    body = {"order": args.order, "reason": args.reason, "cut": args.now}
    answer = server.post(f"{_path(args.name)}/orders", body, "state")
    if args.json:
        print(json.dumps(answer))
    else:
        print(
            f"{args.name} is {answer['state']}. "
            f"It may be asked to: {', '.join(answer['orders']) or 'nothing'}."
        )


def _restore_version(server: ServerClient, args: argparse.Namespace) -> None:
    answer = server.post(f"{_path(args.name)}/restore", {"version": args.version}, "version")
    if args.json:
        print(json.dumps(answer))
    else:
        print(f"{args.name} is at version {answer['version']}, with the weights of version {args.version}.")


def _participants(server: ServerClient, args: argparse.Namespace) -> None:
    rows = server.get(f"{_path(args.name)}/participants", "participants")["participants"]
    if args.json:
        print(json.dumps({"participants": rows}))
    elif not rows:
        print("Nobody is here, and nobody was.")
    else:
        Console(highlight=False).print(_table(rows))


def _treat(server: ServerClient, args: argparse.Namespace) -> None:
    body = {"act": args.treatment, "reason": args.reason}
    path = f"{_path(args.name)}/participants/{quote(args.client, safe='')}"
    answer = server.post(path, body, "banned")
    if args.json:
        print(json.dumps(answer))
    else:
        done = {"remove": "was sent away", "ban": "is kept out from now on", "unban": "may come in again"}
        print(f"{args.client} {done[args.treatment]}.")


def _path(task: str) -> str:
    return f"/api/tasks/{quote(task, safe='')}"


def _table(rows: list[Mapping[str, Any]]) -> Table:
    heads = ("participant", "runs on", "does", "accepted", "refused", "examples")
    table = Table(*heads, box=None, header_style="bold")
    for row in rows:
        away = "away" if row["banned"] is None else "kept out"
        table.add_row(
            row["client"],
            escape(f"{row['kind'] or ''} {row['backend'] or ''}"),
            row["status"] or away,
            *(number(row[key]) for key in ("accepted", "refused", "examples")),
        )
    return table
