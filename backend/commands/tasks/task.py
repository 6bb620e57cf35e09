"""`minga task`: shows and manages the tasks of a running server, and creates new tasks."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

from rich.console import Console

from backend.commands.server_client import ServerClient, add_server_option
from backend.commands.tasks import check as task_check
from backend.commands.tasks import download as task_download
from backend.commands.tasks import extend, lead, reaggregate
from backend.commands.tasks import integrity as task_integrity
from backend.commands.tasks import new as task_new
from backend.commands.tasks import pin as task_pin
from backend.commands.tasks import push as task_push
from backend.commands.tasks.event_text import RoundEvents
from backend.commands.tasks.task_report import print_task, print_tasks, round_line
from backend.commands.tokens import reading_server
from backend.errors import UnreachableError

# `SHOWN` rounds are printed with a task; a log has at most `MOST`, the server's maximum per request.
SHOWN, USUAL, MOST = 5, 20, 1000
LOOK_SECONDS = 1.0

# Shown at the end of the help.
EXAMPLES = ("minga task list", "minga task new flowers --from image", "minga task push flowers --launch")


def register(subparsers: Any) -> None:
    """Adds the command and its actions."""
    parser: argparse.ArgumentParser = subparsers.add_parser("task", examples=EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    common = argparse.ArgumentParser(add_help=False)
    add_server_option(common)
    common.add_argument("--json", action="store_true", help="report in JSON")
    new = actions.add_parser(
        "new",
        help="create a task from a template or a task of the gallery",
        examples=("minga task new flowers --from image",),
    )
    task_new.add_flags(new)
    new.set_defaults(run=task_new.run)
    check = actions.add_parser(
        "check",
        help="show what a server would refuse and what is still missing",
        examples=("minga task check flowers", "minga task check flowers --convert"),
    )
    task_check.add_flags(check)
    check.set_defaults(run=task_check.run)
    push = actions.add_parser(
        "push",
        help="upload a task's folder to a server and launch it",
        examples=("minga task push flowers --to https://minga.example.org --launch",),
    )
    task_push.add_flags(push)
    push.set_defaults(run=task_push.run)
    listing = actions.add_parser(
        "list",
        parents=[common],
        help="list all tasks, a line each",
        examples=("minga task list --server https://minga.example.org",),
    )
    listing.set_defaults(run=run, act=_list)
    show = actions.add_parser(
        "show",
        parents=[common],
        help="show one task and its newest rounds",
        examples=("minga task show digits",),
    )
    show.add_argument("name", metavar="NAME", help="the task")
    show.set_defaults(run=run, act=_show)
    log = actions.add_parser(
        "log",
        parents=[common],
        help="list the results of its rounds, one per line",
        examples=("minga task log digits --follow",),
    )
    log.add_argument("name", metavar="NAME", help="the task")
    log.add_argument("--follow", action="store_true", help="continue until the task finishes, or Ctrl-C")
    log.add_argument(
        "--last", type=_count, default=USUAL, metavar="N", help=f"begin with the newest N, default {USUAL}"
    )
    log.set_defaults(run=run, act=_log)
    download = actions.add_parser(
        "download",
        parents=[common],
        help="download a version for Keras, ONNX, web pages and more",
        examples=("minga task download digits", "minga task download digits --version 12 --format onnx"),
    )
    task_download.add_flags(download)
    download.set_defaults(run=run, act=task_download.act)
    integrity = actions.add_parser(
        "integrity",
        parents=[common],
        help="look for signs of a backdoor in a version or a model file",
        examples=(
            "minga task integrity digits --version 12 --against 8",
            "minga task integrity model.keras --data examples.npz",
        ),
    )
    task_integrity.add_flags(integrity)
    integrity.set_defaults(run=task_integrity.run)
    lead.add_actions(actions, common)
    reaggregate.add_action(actions, common)
    extend.add_actions(actions, common)
    pin = actions.add_parser(
        "pin",
        help="pin a bundle to the program that computes the same bits everywhere",
        examples=("minga task pin flowers",),
    )
    task_pin.add_flags(pin)
    pin.set_defaults(run=task_pin.run)


def run(args: argparse.Namespace) -> int:
    """Runs the action. Raises NotFoundError, UnreachableError or SettingsError."""
    try:
        args.act(reading_server(args.server), args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe, as in `minga task log digits | head`; flushing at exit would fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _list(server: ServerClient, args: argparse.Namespace) -> None:
    summaries, problems = server.summaries(), server.problems()
    if args.json:
        _print_json({"tasks": summaries, "problems": problems})
    else:
        print_tasks(_console(), summaries, problems)


def _show(server: ServerClient, args: argparse.Namespace) -> None:
    summary, rounds = server.summary(args.name), server.rounds(args.name, 0, SHOWN)
    if args.json:
        _print_json({**summary, "newest_rounds": rounds})
    else:
        print_task(_console(), server.url, summary, rounds)


def _log(server: ServerClient, args: argparse.Namespace) -> None:
    console, round_events = _console(), RoundEvents()
    summary, rounds = server.summary(args.name), server.rounds(args.name, 0, args.last)
    if not rounds and not args.json:
        ended = "epoch" if summary["scheme"] == "volunteer" else "round"
        print(f"No {ended} has ended yet.", file=sys.stderr)
    units = summary["scheme"] == "volunteer"
    _print_events(console, round_events, rounds, args.json, units)
    while args.follow and summary["phase"] != "finished":
        time.sleep(LOOK_SECONDS)
        summary, rounds = _poll(server, args.name, round_events)
        _print_events(console, round_events, rounds, args.json, units)


def _poll(
    server: ServerClient, name: str, round_events: RoundEvents
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Fetches the task and its rounds; retries while the server is unreachable, as during a restart."""
    announced = False
    while True:
        try:
            # In this order, so that the last rounds of a finished task are still printed.
            return server.summary(name), server.rounds(name, round_events.after, MOST)
        except UnreachableError as error:
            if not announced:
                print(f"{error} Waiting for it.", file=sys.stderr)
            announced = True
            time.sleep(LOOK_SECONDS)


def _print_events(
    console: Console, round_events: RoundEvents, rounds: list[dict[str, Any]], as_json: bool, units: bool
) -> None:
    for event in round_events.new_events(rounds):
        if as_json:
            _print_json(event)
        else:
            console.print(round_line(event, units), soft_wrap=True)
    sys.stdout.flush()


def _print_json(content: object) -> None:
    print(json.dumps(content, ensure_ascii=False), flush=True)


def _console() -> Console:
    return Console(highlight=False)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to {MOST} is needed, not '{text}'")
    return int(text)
