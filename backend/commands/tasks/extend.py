"""`minga task extend`, `start-over` and `fork`: owners continue ended tasks, or one of their versions."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any
from urllib.parse import quote

from backend.commands.server_client import ServerClient, server_at
from backend.commands.tokens import needed
from backend.errors import SettingsError

ACCEPTED = 202


def add_actions(actions: Any, common: argparse.ArgumentParser) -> None:
    """Adds the actions to `minga task`; `common` has the flags of all its actions."""
    extend = actions.add_parser(
        "extend",
        parents=[common],
        help="train more rounds, also after the end, or change the plan",
        examples=("minga task extend digits --rounds 20", "minga task extend digits --rounds 20 --from best"),
    )
    extend.add_argument("name", metavar="NAME", help="the task")
    extend.add_argument(
        "--from",
        dest="version",
        type=_version,
        metavar="VERSION",
        help="continue an ended task from a stored version, or from the best; default: the newest",
    )
    _add_plan(extend)
    extend.set_defaults(run=run, act=_extend)
    over = actions.add_parser(
        "start-over",
        parents=[common],
        help="train an ended task again from version 0; its versions stay",
        examples=("minga task start-over digits",),
    )
    over.add_argument("name", metavar="NAME", help="the task")
    over.add_argument("--yes", action="store_true", help="do not ask whether that is meant")
    _add_plan(over)
    over.set_defaults(run=run, act=_start_over, version=0)
    fork = actions.add_parser(
        "fork",
        parents=[common],
        help="make a draft of another task that begins with a version of this one",
        examples=("minga task fork digits letters",),
    )
    fork.add_argument("name", metavar="NAME", help="the task")
    fork.add_argument("new", metavar="NEW", help="the name of the other task")
    fork.add_argument(
        "--from",
        dest="version",
        type=_version,
        default="best",
        metavar="VERSION",
        help="the version that it begins with; default: the best",
    )
    fork.set_defaults(run=run, act=_fork)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="rounds, or epochs of work units, from now on"
    )
    parser.add_argument(
        "--deadline",
        type=float,
        metavar="S",
        help="longest time of a round, or of a unit's lease, seconds",
    )
    parser.add_argument("--learning-rate", type=float, metavar="R", help="the clients' learning rate")
    parser.add_argument("--target", metavar="METRIC=VALUE", help="stop rule: the value that ends the task")
    parser.add_argument("--patience", type=int, metavar="N", help="stop rule: versions without progress")
    parser.add_argument("--seconds", type=float, metavar="S", help="stop rule: duration of all rounds")
    parser.add_argument("--no-stop-rules", action="store_true", help="only the count of rounds ends the task")


def run(args: argparse.Namespace) -> int:
    """Runs the action. Raises MingaError."""
    server = server_at(args.server)
    args.act(server_at(args.server, needed(server.url)), args)
    return 0


def _extend(server: ServerClient, args: argparse.Namespace) -> None:
    asked = {
        "rounds": args.rounds,
        "deadline": args.deadline,
        "learning_rate": args.learning_rate,
        "stop": _stop(args),
        "version": args.version,
    }
    body = {key: value for key, value in asked.items() if value is not None}
    if not body:
        raise SettingsError("Say what changes, such as --rounds 20 or --from best.")
    answer = server.post(f"{_path(args.name)}/extend", body, "applied")
    if args.json:
        print(json.dumps(answer))
        return
    when = "now" if answer["applied"] else "when its open round ended"
    print(
        f"{args.name} is {answer['state']}: it continues {when}, up to version {answer['rounds']}, at a "
        f"learning rate of {answer['learning_rate']:g}. A round lasts {answer['deadline']:g} seconds at most."
    )
    if (privacy := answer["privacy"]) is not None:
        epsilon = "no meaningful limit" if privacy["epsilon"] is None else f"epsilon {privacy['epsilon']:.3g}"
        print(f"A client that is in every further round gives away {epsilon} in all.")


def _start_over(server: ServerClient, args: argparse.Namespace) -> None:
    if not args.yes:
        newest = server.summary(args.name)["version"]
        question = (
            f"Train {args.name} again from version 0? Versions up to {newest} stay, left behind. [y/N] "
        )
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise SettingsError("Nothing changed. Say y, or --yes where nobody is there to be asked.")
    _extend(server, args)


def _fork(server: ServerClient, args: argparse.Namespace) -> None:
    body = {"name": args.new, "version": args.version}
    while True:
        answer = server.send("POST", f"{_path(args.name)}/clone", body)
        if answer.status != ACCEPTED:
            break
        time.sleep(float(answer.headers.get("retry-after", 1)))
    draft = answer.json
    if args.json:
        print(json.dumps({"draft": draft["id"], "name": args.new}))
    else:
        print(f"{args.new} is a draft now: {server.url}/drafts/{draft['id']}")


def _stop(args: argparse.Namespace) -> dict[str, Any] | None:
    """Returns the stop rules that replace the task's; None if they stay."""
    rules: dict[str, Any] = {"patience": args.patience, "seconds": args.seconds}
    if args.target is not None:
        metric, equals, value = args.target.partition("=")
        try:
            rules["target"] = {"metric": metric, "value": float(value if equals else "")}
        except ValueError as error:
            raise SettingsError("Write a target as METRIC=VALUE, such as accuracy=0.95.") from error
    chosen = {key: value for key, value in rules.items() if value is not None}
    if chosen and args.no_stop_rules:
        raise SettingsError("--no-stop-rules cannot be combined with a stop rule; leave one out.")
    return chosen if chosen or args.no_stop_rules else None


def _version(text: str) -> int | str:
    if text == "best":
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a version's number or `best` is needed, not '{text}'")
    return int(text)


def _path(task: str) -> str:
    return f"/api/tasks/{quote(task, safe='')}"
