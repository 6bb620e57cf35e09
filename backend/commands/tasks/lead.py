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
from backend.commands.terminal.tables import indented, listing
from backend.commands.tokens import needed
from backend.protocols.tasks.task_life import Order
from backend.server.tasks.formatting import number
from backend.web.pages.participant_names import participant_name

ORDERS = {
    Order.LAUNCH: "launch a tested task",
    Order.PAUSE: "stop opening rounds and giving out work units; participants wait",
    Order.RESUME: "continue training after a pause, a finish or a stop",
    Order.FINISH: "end after the open round or epoch",
    Order.STOP: "end at once; work in progress does not count",
    Order.ARCHIVE: "archive an ended task: it admits nobody and keeps its versions",
    Order.RESTORE: "restore an archived task, or an earlier version of the model",
}
# Of the others, `minga task NAME digits`.
EXAMPLES = {
    "pause": 'minga task pause digits --reason "new data tomorrow"',
    "restore": "minga task restore digits 12",
    "accept": "minga task accept digits 12",
    "remove": "minga task remove digits 5d41402abc4b",
    "ban": 'minga task ban digits 5d41402abc4b --reason "sends noise"',
    "unban": "minga task unban digits 5d41402abc4b",
}
TREATMENTS = {
    "remove": "disconnect a participant, who may return",
    "ban": "disconnect a participant and refuse it from now on",
    "unban": "admit a banned participant again",
}


def add_actions(actions: Any, common: argparse.ArgumentParser) -> None:
    """Adds the actions to `minga task`; `common` has the flags of all its actions."""
    for order, words in ORDERS.items():
        parser = _named(actions, order, common, words)
        parser.add_argument(
            "--reason", default="", metavar="TEXT", help="the reason that participants and others see"
        )
        if order is Order.PAUSE:
            parser.add_argument(
                "--now",
                action="store_true",
                help="discard open rounds and work units at once; without it they finish first",
            )
        if order is Order.RESTORE:
            parser.add_argument(
                "version",
                metavar="VERSION",
                type=int,
                nargs="?",
                help="a stored version, which becomes the newest again",
            )
        parser.set_defaults(act=_order, order=str(order), now=False, version=None)
    accepting = _named(actions, "accept", common, "offer a version that did not pass its integrity check")
    accepting.add_argument("version", metavar="VERSION", type=int, help="the version")
    accepting.set_defaults(act=_accept)
    listing = _named(actions, "participants", common, "list connected, banned and most helpful participants")
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
    parser: argparse.ArgumentParser = actions.add_parser(
        name, parents=[common], help=words, examples=(EXAMPLES.get(name, f"minga task {name} digits"),)
    )
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
            f"Possible commands: {', '.join(answer['orders']) or 'nothing'}."
        )


def _restore_version(server: ServerClient, args: argparse.Namespace) -> None:
    answer = server.post(f"{_path(args.name)}/restore", {"version": args.version}, "version")
    if args.json:
        print(json.dumps(answer))
    else:
        print(f"{args.name} is at version {answer['version']}, with the weights of version {args.version}.")


def _accept(server: ServerClient, args: argparse.Namespace) -> None:
    answer = server.post(f"{_path(args.name)}/accept", {"version": args.version}, "version")
    if args.json:
        print(json.dumps(answer))
    else:
        print(f"Version {answer['version']} of {args.name} may be offered: its owner accepted it.")


def _participants(server: ServerClient, args: argparse.Namespace) -> None:
    rows = server.get(f"{_path(args.name)}/participants", "participants")["participants"]
    if args.json:
        print(json.dumps({"participants": rows}))
    elif not rows:
        print("No participants so far.")
    else:
        Console(highlight=False).print(indented(_table(rows)))


def _treat(server: ServerClient, args: argparse.Namespace) -> None:
    body = {"act": args.treatment, "reason": args.reason}
    path = f"{_path(args.name)}/participants/{quote(args.client, safe='')}"
    answer = server.post(path, body, "banned")
    if args.json:
        print(json.dumps(answer))
    else:
        done = {"remove": "was sent away", "ban": "is banned from now on", "unban": "may come in again"}
        print(f"{args.client} {done[args.treatment]}.")


def _path(task: str) -> str:
    return f"/api/tasks/{quote(task, safe='')}"


def _table(rows: list[Mapping[str, Any]]) -> Table:
    table = listing("participant", "runs on", "does", ">accepted", ">refused", ">examples")
    # Other commands take the id, so it is never shortened.
    table.columns[0].min_width = 16
    for row in rows:
        away = "away" if row["banned"] is None else "kept out"
        table.add_row(
            # One cell: on a narrow terminal the id stands below the name, in one piece.
            f"{participant_name(row['client'])} {row['client']}",
            escape(f"{row['kind'] or ''} {row['backend'] or ''}"),
            row["status"] or away,
            *(number(row[key]) for key in ("accepted", "refused", "examples")),
        )
    return table
