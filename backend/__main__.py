"""Runs the command `minga`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from backend.commands.terminal.command_groups import COMMANDS
from backend.commands.terminal.command_parser import CommandParser, RootParser, say_error
from backend.errors import MingaError

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command. Returns 0, 1 (unexpected), 2 (refused, with a sentence) or 130 (Ctrl-C)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser(words)
    if not words:
        parser.print_help()
        return 0
    args = parser.parse_args(words)
    try:
        code: int = args.run(args)
        return code
    except MingaError as error:
        say_error(str(error))
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def full_parser() -> CommandParser:
    """Returns the parser of all commands, whose modules it imports."""
    return _parser_of(COMMANDS)


def _parser(words: Sequence[str]) -> CommandParser:
    """Returns a parser of the requested command only, to import no other; without one, of all by name."""
    return _parser_of([word for word in words[:1] if word in COMMANDS])


def _parser_of(names: Iterable[str]) -> CommandParser:
    parser = RootParser(
        prog="minga", description="Neighbours train one neural network together: browsers, laptops and GPUs."
    )
    parser.add_argument("--version", action="version", version=f"minga {_version()}")
    subparsers = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True, parser_class=CommandParser
    )
    for name in names:
        import_module(f"backend.commands.{COMMANDS[name].module}").register(subparsers)
    return parser


def _version() -> str:
    try:
        return version("minga")
    except PackageNotFoundError:
        return "from source"


if __name__ == "__main__":
    sys.exit(main())
