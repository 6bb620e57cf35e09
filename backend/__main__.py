"""Runs the command `minga`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from backend.commands.terminal.all_commands import parser_of
from backend.commands.terminal.command_groups import COMMANDS
from backend.commands.terminal.command_parser import CommandParser, say_error
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


def _parser(words: Sequence[str]) -> CommandParser:
    """Returns a parser of the requested command only, to import no other; without one, of all by name."""
    return parser_of([word for word in words[:1] if word in COMMANDS])


if __name__ == "__main__":
    sys.exit(main())
