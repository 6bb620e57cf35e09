"""docs/reference/commands.md against the commands that there are."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from backend.__main__ import main
from backend.commands.terminal.all_commands import full_parser
from backend.commands.terminal.command_groups import GROUPS
from backend.commands.terminal.command_parser import CommandParser
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


def every(parser: CommandParser, name: str = "minga") -> Iterator[tuple[str, CommandParser]]:
    """Every command, also one that only holds others, with its own parser."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, child in action.choices.items():
                yield f"{name} {word}", child
                yield from every(child, f"{name} {word}")


EVERY = list(every(full_parser()))
COMMANDS = list(commands(full_parser()))


def section(name: str) -> str:
    return REFERENCE.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings} - {"-h", "--help"}


@pytest.mark.parametrize(("name", "parser"), EVERY, ids=[name for name, _ in EVERY])
def test_the_help_of_a_command_fits_80_columns_and_ends_with_examples_that_are_accepted(
    name: str, parser: CommandParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, _, words = full_parser_help(name).partition("\nExamples:\n")
    examples = [line.removeprefix("  $ ") for line in words.splitlines()]
    assert examples == list(parser.examples)
    assert examples
    for line in examples:
        assert line.startswith(name)
        given = shlex.split(line, comments=True)
        full_parser().parse_args(given[1 : given.index(">") if ">" in given else None])


def full_parser_help(name: str) -> str:
    """The help of a command as a terminal of 80 columns shows it."""
    (parser,) = (one for path, one in every(full_parser()) if path == name)
    text = parser.format_help()
    assert max(map(len, text.splitlines())) <= 80, text
    return text


def test_the_help_lists_every_command_by_its_users(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for group in GROUPS:
        listed = text.partition(f"\n{group.title}\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in listed.splitlines() if "$" not in line] == list(group.commands)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["srve"], "There is no command `minga srve`; did you mean `minga serve`? See `minga --help`."),
        (["task", "shw"], "There is no command `minga task shw`; did you mean `minga task show`?"),
        (["serve", "--prot", "3"], "`minga serve` has no --prot 3. See `minga serve --help`."),
        (["task", "show"], "The following arguments are required: NAME. See `minga task show --help`."),
    ],
)
def test_words_that_are_wrong_get_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    told = " ".join(capsys.readouterr().err.split())
    assert told.startswith(f"minga: {sentence}")


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
