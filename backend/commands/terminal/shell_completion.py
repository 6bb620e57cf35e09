"""Writes scripts by which bash, zsh and fish complete commands, flags, and the choices of flags."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CompletedWord:
    """A word to complete with what it means; a flag may have `choices` for its value."""

    word: str
    summary: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandWords:
    """A command's path such as `minga task show`, and what can follow it: commands, choices and flags."""

    path: str
    words: tuple[CompletedWord, ...]
    flags: tuple[CompletedWord, ...]


def command_tree(parser: argparse.ArgumentParser) -> list[CommandWords]:
    """Returns the words of a parser and of all commands in it."""
    return list(_walk(parser, parser.prog))


def _walk(parser: argparse.ArgumentParser, path: str) -> Iterator[CommandWords]:
    words: list[CompletedWord] = []
    flags: list[CompletedWord] = []
    nested: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            words += [CompletedWord(name, summaries[name]) for name in action.choices]
            nested += action.choices.items()
        elif action.option_strings:
            choices = tuple(map(str, action.choices or ()))
            flags += [CompletedWord(flag, _plain(action), choices) for flag in action.option_strings]
        else:
            words += [CompletedWord(str(choice), _plain(action)) for choice in action.choices or ()]
    yield CommandWords(path, tuple(words), tuple(flags))
    for name, child in nested:
        yield from _walk(child, f"{path} {name}")


def _plain(action: argparse.Action) -> str:
    return " ".join((action.help or "").replace("%(default)s", str(action.default)).split())


def bash(tree: Sequence[CommandWords]) -> str:
    """Returns the script for bash; where nothing fits, bash completes files."""
    paths = " | ".join(f'"{one.path}"' for one in tree[1:])
    lines = [
        "_minga() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" place=minga word',
        '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        f'    case "$place $word" in {paths}) place="$place $word" ;; esac',
        "  done",
        '  local words=""',
        '  case "$place" in',
    ]
    for one in tree:
        words = " ".join(candidate.word for candidate in one.words)
        flags = " ".join(candidate.word for candidate in one.flags)
        lines.append(f'    "{one.path}") words="{words}"; [[ $current == -* ]] && words="{flags}" ;;')
    lines += ["  esac", '  case "$place $previous" in']
    lines += [
        f'    "{path} {flag.word}") words="{" ".join(flag.choices)}" ;;' for path, flag in _with_choices(tree)
    ]
    lines += [
        "  esac",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o default -F _minga minga",
    ]
    return "\n".join(lines) + "\n"


def zsh(tree: Sequence[CommandWords]) -> str:
    """Returns the script for zsh, which shows what each word means."""
    paths = " | ".join(f'"{one.path}"' for one in tree[1:])
    lines = [
        "#compdef minga",
        "_minga() {",
        "  local place=minga word previous=${words[CURRENT-1]}",
        "  local -a candidates",
        "  for word in ${words[2,CURRENT-1]}; do",
        f'    case "$place $word" in {paths}) place="$place $word" ;; esac',
        "  done",
        '  case "$place $previous" in',
    ]
    lines += [
        f'    "{path} {flag.word}") compadd {" ".join(flag.choices)}; return ;;'
        for path, flag in _with_choices(tree)
    ]
    lines += ["  esac", '  case "$place" in']
    for one in tree:
        words, flags = (" ".join(map(_described, part)) for part in (one.words, one.flags))
        lines += [
            f'    "{one.path}")',
            f'      if [[ "$PREFIX" == -* ]]; then candidates=({flags}); else candidates=({words}); fi ;;',
        ]
    lines += [
        "  esac",
        "  (( $#candidates )) && _describe -o minga candidates || _files",
        "}",
        "compdef _minga minga",
    ]
    return "\n".join(lines) + "\n"


def fish(tree: Sequence[CommandWords]) -> str:
    """Returns the script for fish, which shows what each word means."""
    lines = [
        "function __minga_at",
        "    set -l words (commandline -opc)",
        "    set -l place minga",
        "    for word in $words[2..-1]",
        '        contains -- "$place $word" $__minga_places; and set place "$place $word"',
        "    end",
        '    test "$place" = "$argv"',
        "end",
        f"set -g __minga_places {' '.join(shlex.quote(one.path) for one in tree)}",
    ]
    for one in tree:
        at = f"complete -c minga -n {shlex.quote(f'__minga_at {one.path}')}"
        lines += [f"{at} -f -a {shlex.quote(word.word)} -d {shlex.quote(word.summary)}" for word in one.words]
        for flag in one.flags:
            kind = f"-l {flag.word[2:]}" if flag.word.startswith("--") else f"-s {flag.word[1:]}"
            values = f" -x -a {shlex.quote(' '.join(flag.choices))}" if flag.choices else ""
            lines.append(f"{at} {kind} -d {shlex.quote(flag.summary)}{values}")
    return "\n".join(lines) + "\n"


def _with_choices(tree: Sequence[CommandWords]) -> list[tuple[str, CompletedWord]]:
    return [(one.path, flag) for one in tree for flag in one.flags if flag.choices]


def _described(candidate: CompletedWord) -> str:
    """Returns a word with its meaning as zsh's _describe takes it: a colon ends the word."""
    return shlex.quote(f"{candidate.word.replace(':', chr(92) + ':')}:{candidate.summary}")


SCRIPTS: dict[str, Callable[[Sequence[CommandWords]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
