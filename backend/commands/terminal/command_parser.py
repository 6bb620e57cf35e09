"""Parses the command line; prints help with examples, and errors as sentences, for all commands alike."""

from __future__ import annotations

import argparse
import difflib
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from typing import IO, Any, NoReturn

from rich.console import Console
from rich.text import Text

from backend.commands.terminal.command_groups import COMMANDS, GROUPS

REFUSED = 2
WIDEST, HELP_COLUMN = 100, 26
# What is coloured in a help text: headings, flags, and the commands of examples.
_LOOK = (
    (r"(?m)^[A-Z][^\n.]*$|^usage:", "bold cyan"),
    (r"(?<![\w-])--?[a-z][\w-]*", "green"),
    (r"(?m)^  \$ .*$", "bold"),
)


class CommandParser(argparse.ArgumentParser):
    """A parser of `minga`, or of one of its commands, which are CommandParsers as well.

    `examples` are command lines that its help ends with; `add_parser` of a command takes them, too.
    """

    def __init__(self, *words: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        width = min(WIDEST, shutil.get_terminal_size().columns) - 2
        look = partial(_HelpFormatter, width=width, max_help_position=HELP_COLUMN)
        settings |= {"formatter_class": look, "add_help": False, "allow_abbrev": False}
        super().__init__(*words, **settings)
        self.examples = examples
        self.register("action", "parsers", _Commands)
        self._positionals.title, self._optionals.title = "Arguments", "Options"
        self.add_argument("-h", "--help", action="help", help="show this help")

    def format_help(self) -> str:
        """Returns the help text, which ends with the examples."""
        lines = ["", "Examples:", *(f"  $ {example}" for example in self.examples), ""]
        return super().format_help() + ("\n".join(lines) if self.examples else "")

    def print_help(self, file: Any = None) -> None:
        """Prints the help, in colours on a terminal."""
        print_coloured(self.format_help(), file or sys.stdout)

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong with the words, and where to read more; exits."""
        sentence = message if message.endswith(("?", ".")) else f"{message}."
        say_error(f"{sentence[:1].upper()}{sentence[1:]} See `{self.prog} --help`.")
        self.exit(REFUSED)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if not isinstance(action, argparse._SubParsersAction) or value in action.choices:
            return super()._check_value(action, value)
        # Of `minga` no command's parser is loaded where none of them is asked for.
        known = list(action.choices or COMMANDS)
        near = difflib.get_close_matches(str(value), known, 1)
        hint = f"did you mean `{self.prog} {near[0]}`?" if near else f"there are {', '.join(known)}"
        raise argparse.ArgumentError(None, f"there is no command `{self.prog} {value}`; {hint}")


class _HelpFormatter(argparse.HelpFormatter):
    def add_argument(self, action: argparse.Action) -> None:
        """Adds an argument; argparse itself forgets that commands stand further to the right."""
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            longest = max(map(len, action.choices), default=0)
            self._action_max_length = max(self._action_max_length, longest + 2 * self._indent_increment)


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands of a parser; each is described by its summary."""

    def add_parser(self, name: str, **settings: Any) -> Any:
        """Adds a command; `help` is its summary, which the list of commands has for those of `minga`."""
        summary = settings.pop("help", None) or COMMANDS[name].summary
        settings.setdefault("description", f"{summary[:1].upper()}{summary[1:]}.")
        return super().add_parser(name, help=summary, **settings)


class RootParser(CommandParser):
    """The parser of `minga`, whose help lists all commands by the people who use them."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parses the words; exits with a sentence if any is unknown to the command."""
        known, rest = self.parse_known_args(args, namespace)
        if rest:
            path = " ".join(filter(None, (self.prog, known.command, getattr(known, "action", None))))
            say_error(f"`{path}` has no {' '.join(rest)}. See `{path} --help`.")
            self.exit(REFUSED)
        return known

    def format_help(self) -> str:
        """Returns the help text; it needs no command's parser."""
        lines = ["usage: minga COMMAND ...", "", str(self.description), ""]
        for group in GROUPS:
            lines.append(group.title)
            lines += [f"  {name:<11} {entry.summary}" for name, entry in group.commands.items()]
            lines += [f"  $ {example}" for example in group.examples]
            lines.append("")
        lines += [
            "Options",
            "  --version   print the version",
            "  -h, --help  print this; `minga COMMAND --help` says what a command does",
            "",
        ]
        return "\n".join(lines)


def print_coloured(text: str, file: IO[str]) -> None:
    """Prints a help text, in colours if `file` is a terminal."""
    coloured = Text(text)
    for pattern, style in _LOOK:
        coloured.highlight_regex(pattern, style)
    Console(file=file, highlight=False).print(coloured, end="", soft_wrap=True)


def say_error(sentence: str) -> None:
    """Prints what went wrong to standard error."""
    text = Text.assemble(("minga:", "bold red"), " ", sentence)
    Console(stderr=True, highlight=False).print(text, soft_wrap=True)
