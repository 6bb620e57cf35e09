"""`minga replay`: trains a work unit again, and compares the result with the server's record."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import Any

from backend.commands.server_client import add_server_option
from backend.errors import PeerError

# Shown at the end of the help.
EXAMPLES = ("minga replay digits 17", "minga replay digits 17 --save trace")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("replay", examples=EXAMPLES)
    parser.add_argument("task", metavar="TASK", help="the task")
    parser.add_argument("unit", metavar="UNIT", type=int, help="the number of the work unit")
    add_server_option(parser)
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="write a trace: hashes after each step, and of each op"
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="compare with another machine's trace: find the first step and op that differ, and which "
        "machine is wrong",
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Replays the unit. Raises MingaError."""
    if importlib.util.find_spec("httpx") is None:
        raise PeerError("A replay needs httpx: run `pip install 'minga[exact]'` and try again.")
    # Imported here: a server's installation, which has no httpx, lists the command, too.
    from backend.commands.replay import unit_replay

    return unit_replay.run(args)
