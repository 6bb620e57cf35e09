"""`minga attack`: attacks a task of this machine on a server of its own, and shows what each rule bears."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
from pathlib import Path
from typing import Any

import structlog

from backend.commands.number_arguments import count, positive, seed
from backend.commands.tasks.own_tasks import refuse_address
from backend.errors import PeerError

# Shown at the end of the help.
EXAMPLES = (
    "minga attack digits",
    "minga attack digits --rule krum --attack alie --report attacks.html",
    "minga attack cifar10 --data my-pictures --clients 7 --attackers 2",
)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("attack", examples=EXAMPLES)
    parser.add_argument(
        "task", metavar="PATH", help="a task file of yours, its folder, or a gallery's task; no server's"
    )
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="examples as a volunteer brings them, if the task has none"
    )
    parser.add_argument(
        "--rule",
        action="append",
        dest="rules",
        metavar="RULE",
        help="a rule to try, such as krum or nnm+trimmed-mean, several times for several; default: the "
        "task's, or nnm+trimmed-mean. The server's mean is always tried",
    )
    parser.add_argument(
        "--attack",
        action="append",
        dest="attacks",
        metavar="WORD",
        help="an attack to try, several times for several; default: sign-flip, alie, min-max and "
        "model-replacement",
    )
    parser.add_argument("--clients", type=count, default=10, metavar="N", help="default 10")
    parser.add_argument(
        "--attackers",
        type=count,
        default=3,
        metavar="N",
        help="of the clients; each rule is made for so many; default 3",
    )
    parser.add_argument("--rounds", type=count, default=15, metavar="N", help="default 15")
    parser.add_argument(
        "--alpha",
        type=positive,
        metavar="A",
        help="splits examples by class, with Dirichlet's concentration A; default: evenly",
    )
    parser.add_argument("--seed", type=seed, default=0, metavar="N", help="draws split and noise; default 0")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="TABLE.KEY=VALUE",
        help="replaces a value of the task file",
    )
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a page with curves")
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Attacks the task. Raises MingaError."""
    refuse_address(args.task)
    if any(importlib.util.find_spec(name) is None for name in ("tensorflow", "httpx")):
        raise PeerError("The attack lab trains with TensorFlow: run `pip install 'minga[peer]'`.")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # What the lab's server logs, such as refused updates, is counted in the report.
    logging.getLogger("minga").setLevel(logging.CRITICAL)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    # Imported here: a server's installation, which has no TensorFlow, lists the command, too.
    from backend.commands.attack import task_attacks

    return task_attacks.run(args)
