"""`minga leak`: attacks updates of a task on this machine, and shows what each protection hides."""

from __future__ import annotations

import argparse
import importlib.util
import os
from pathlib import Path
from typing import Any

from backend.commands.number_arguments import count, number, positive, seed
from backend.commands.tasks.own_tasks import refuse_address
from backend.errors import PeerError

PROTECTION_NAMES = ("open", "masked", "masked-sum", "local", "distributed", "central", "examples")
ATTACK_NAMES = ("dlg", "idlg", "inversion")

# Shown at the end of the help.
EXAMPLES = (
    "minga leak digits",
    "minga leak cifar10 --data my-pictures --report leaks.html",
    "minga leak digits --option open --set training.epochs=1",
)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("leak", examples=EXAMPLES)
    parser.add_argument(
        "task", metavar="PATH", help="a task file of yours, its folder, or a gallery's task; no server's"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="pictures as a volunteer brings them, if the task has none"
    )
    parser.add_argument(
        "--option",
        action="append",
        choices=PROTECTION_NAMES,
        dest="options",
        metavar="WORD",
        help="a protection to attack, several times for several; default: all of "
        + ", ".join(PROTECTION_NAMES),
    )
    parser.add_argument(
        "--attack",
        action="append",
        choices=ATTACK_NAMES,
        dest="attacks",
        metavar="WORD",
        help="an attack to try, several times for several; default: all of " + ", ".join(ATTACK_NAMES),
    )
    parser.add_argument(
        "--pictures", type=count, default=2, metavar="N", help="volunteers to attack; default 2"
    )
    parser.add_argument(
        "--examples", type=count, default=1, metavar="N", help="examples of each volunteer; default 1"
    )
    parser.add_argument(
        "--group",
        type=_group,
        metavar="N",
        help="volunteers of a round; default: the task's min_clients, or 8",
    )
    parser.add_argument("--clip", type=positive, metavar="C", help="default: the task's, or 1")
    parser.add_argument(
        "--noise", type=_not_negative, metavar="Z", help="noise multiplier; default: the task's, or 1"
    )
    parser.add_argument(
        "--steps", type=count, default=1000, metavar="N", help="steps of an attack; default 1000"
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="draws other pictures; default 0")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="replaces a value of the task file",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a page with pictures side by side")
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Attacks the task. Raises MingaError."""
    refuse_address(args.task)
    if any(importlib.util.find_spec(name) is None for name in ("tensorflow", "scipy")):
        raise PeerError("The leakage lab needs TensorFlow and SciPy: run `pip install 'minga[convert]'`.")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Imported here: a server's installation, which has no TensorFlow, lists the command, too.
    from backend.commands.leak import task_leakage

    return task_leakage.run(args)


def _group(text: str) -> int:
    members = count(text)
    if members < 2:
        raise argparse.ArgumentTypeError("a masked round has at least 2 volunteers")
    return members


def _not_negative(text: str) -> float:
    value = number(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of at least 0 is needed, not '{text}'")
    return value
