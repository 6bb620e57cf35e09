"""Runs the command `minga`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from backend.errors import MingaError

# Command -> its module in backend.commands.
COMMANDS = {
    "serve": "serve",
    "convert": "convert",
    "shard": "data.shard",
    "inspect": "inspect",
    "simulate": "simulate",
    "build": "build",
    "peer": "peer",
    "replay": "replay.replay",
    "task": "tasks.task",
    "account": "account",
    "privacy": "privacy",
    "cost": "cost",
    "demo": "demo.demo",
}

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0, 1 (unexpected), 2 (refused, with a sentence) or 130 (Ctrl-C)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(words)
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help()
        return 0
    try:
        code: int = args.run(args)
        return code
    except MingaError as error:
        print(f"minga: {error}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Returns the parser of all commands, or of the requested one only, to import no other command."""
    parser = argparse.ArgumentParser(
        prog="minga", description="Neighbours train one neural network together: browsers, laptops and GPUs."
    )
    parser.add_argument("--version", action="version", version=f"minga {_version()}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name in [word for word in words[:1] if word in COMMANDS] or list(COMMANDS):
        import_module(f"backend.commands.{COMMANDS[name]}").register(subparsers)
    return parser


def _version() -> str:
    try:
        return version("minga")
    except PackageNotFoundError:
        return "from source"


if __name__ == "__main__":
    sys.exit(main())
