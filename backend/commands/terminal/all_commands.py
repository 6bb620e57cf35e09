"""Builds the parser of `minga` with all commands, or with those that are needed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from backend.commands.terminal.command_groups import COMMANDS
from backend.commands.terminal.command_parser import CommandParser, RootParser

DESCRIPTION = "Neighbours train one neural network together: browsers, laptops and GPUs."


def full_parser() -> CommandParser:
    """Returns the parser of all commands, whose modules it imports."""
    return parser_of(COMMANDS)


def parser_of(names: Iterable[str]) -> CommandParser:
    """Returns a parser of these commands, which imports no other's module; its help lists all."""
    parser = RootParser(prog="minga", description=DESCRIPTION)
    parser.add_argument(
        "--version", action="version", version=f"minga {_version()}", help="print the version"
    )
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
