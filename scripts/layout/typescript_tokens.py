"""Splits TypeScript into tokens: names, strings, templates, numbers, regular expressions and marks.

Knows what the readers need: comments are gone, a bracket in a string or a regular expression is none, and the
code within `${...}` of a template is tokens, too. JSX isn't known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<name>[\#@]?[A-Za-z_$][\w$]*)
  | (?P<number>\.?\d[\w.]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<mark>=>|\.\.\.|\?\.|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_REGEX = re.compile(r"/(?![*/])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
_CHUNK = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
# After these a slash begins a regular expression; after any other name it divides.
_BEFORE_REGEX = frozenset(
    (
        "return",
        "typeof",
        "case",
        "in",
        "of",
        "do",
        "else",
        "void",
        "delete",
        "throw",
        "new",
        "await",
        "yield",
        "instanceof",
    )
)
_OPENING = {"(": ")", "[": "]", "{": "}", "${": "}"}


class Token(NamedTuple):
    """`kind` is name, number, string, template, regex or mark; `line` is that of its first character."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Source:
    """Tokens, and for each index the bracket that it lies in; for a bracket its partner."""

    tokens: list[Token]
    partner: dict[int, int]
    parent: list[int]

    def text(self, index: int) -> str:
        """The token there; empty outside the file."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def is_name(self, index: int) -> bool:
        """Whether a name (or keyword) stands there."""
        return 0 <= index < len(self.tokens) and self.tokens[index].kind == "name"


def read_source(text: str) -> Source:
    """Tokens of a file with their brackets. ValueError where brackets don't fit each other."""
    tokens = list(_tokens(text))
    partner: dict[int, int] = {}
    parent: list[int] = []
    opened = [-1]
    for index, token in enumerate(tokens):
        if token.kind == "mark" and token.text in ")]}":
            if len(opened) == 1 or _OPENING[tokens[opened[-1]].text] != token.text:
                raise ValueError(f"line {token.line}: no partner of {token.text}")
            start = opened.pop()
            partner[start], partner[index] = index, start
        parent.append(opened[-1])
        if token.kind == "mark" and token.text in _OPENING:
            opened.append(index)
    if len(opened) > 1:
        raise ValueError(f"line {tokens[opened[-1]].line}: no partner of {tokens[opened[-1]].text}")
    return Source(tokens, partner, parent)


def _tokens(text: str) -> Iterator[Token]:
    position, line = 0, 1
    last = Token("mark", ";", 0)
    # How many braces are open within each `${` that is open.
    braces: list[int] = []
    while position < len(text):
        kind, found = _match(_TOKEN, text, position)
        if found == "/" and _may_be_regex(last) and (regex := _REGEX.match(text, position)):
            kind, found = "regex", regex[0]
        elif found == "`" or (found == "}" and braces and not braces[-1]):
            if found == "}":
                braces.pop()
                yield Token("mark", "}", line)
            _, chunk = _match(_CHUNK, text, position + 1)
            last = Token("template", chunk, line)
            yield last
            position, line = position + 1 + len(chunk), line + chunk.count("\n")
            if text.startswith("${", position):
                last = Token("mark", "${", line)
                yield last
                braces.append(0)
                position += 1
            position += 1
            continue
        position += len(found)
        if kind != "space":
            if braces and found in "{}":
                braces[-1] += 1 if found == "{" else -1
            last = Token(kind, found, line)
            yield last
        line += found.count("\n")


def _match(pattern: re.Pattern[str], text: str, position: int) -> tuple[str, str]:
    """The group that matches there, and its text; both patterns match anything."""
    match = pattern.match(text, position)
    return (match.lastgroup or "", match[0]) if match else ("", "")


def _may_be_regex(last: Token) -> bool:
    """Whether a slash after this token begins a regular expression."""
    if last.kind == "name":
        return last.text in _BEFORE_REGEX
    return last.kind == "mark" and last.text not in (")", "]", "}")
