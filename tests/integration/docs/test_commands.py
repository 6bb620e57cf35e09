"""docs/reference/commands.md against the commands that there are."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import pytest

from backend.__main__ import _parser
from tests.integration.docs.test_docs import ROOT

REFERENCE = ROOT / "docs/reference/commands.md"
Command = tuple[str, argparse.ArgumentParser]


def commands(parser: argparse.ArgumentParser, name: str = "minga") -> Iterator[Command]:
    """Every command that does something, with its own parser."""
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nested:
        yield name, parser
    for action in nested:
        for word, child in action.choices.items():
            yield from commands(child, f"{name} {word}")


COMMANDS = list(commands(_parser([])))


def section(name: str) -> str:
    return REFERENCE.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings} - {"-h", "--help"}


def test_the_reference_has_every_command_and_no_other() -> None:
    documented = re.findall(r"^## (minga .*)$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    assert sorted(documented) == sorted(name for name, _ in COMMANDS)


@pytest.mark.parametrize(("name", "parser"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_the_reference_has_every_flag_of_a_command_and_no_other(
    name: str, parser: argparse.ArgumentParser
) -> None:
    rows = re.findall(r"^\| (`-.*?) \|", section(name), re.MULTILINE)
    documented = {flag for row in rows for flag in re.findall(r"`(--?[a-z-]+)", row)}
    assert documented == flags(parser)


@pytest.mark.parametrize(("name", "parser"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_flag_says_in_the_terminal_what_it_does(name: str, parser: argparse.ArgumentParser) -> None:
    silent = [action.dest for action in parser._actions if not action.help]
    assert silent == [], name
