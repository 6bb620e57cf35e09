"""Splits TypeScript into tokens: names, strings, templates, numbers, regular expressions and marks.

Comments are dropped, brackets in strings and regular expressions are not brackets, and the code within
`${...}` of a template is tokens, too. JSX isn't supported.
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
# After these words a slash begins a regular expression; after any other name it divides.
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
    """A token; `kind` is name, number, string, template, regex or mark, `line` its first line."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Source:
    """Tokens, and for each index the enclosing bracket; for a bracket its partner."""

    tokens: list[Token]
    partner: dict[int, int]
    parent: list[int]

    def text(self, index: int) -> str:
        """Returns the text of a token; "" outside the file."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def is_name(self, index: int) -> bool:
        """Returns whether the token is a name or a keyword."""
        return 0 <= index < len(self.tokens) and self.tokens[index].kind == "name"


def read_source(text: str) -> Source:
    """Returns the tokens of a file with their brackets. Raises ValueError if brackets don't match."""
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
    # The number of open braces within each open `${`.
    braces: list[int] = []
    while position < len(text):
        kind, matched = _match(_TOKEN, text, position)
        if matched == "/" and _may_be_regex(last) and (regex := _REGEX.match(text, position)):
            kind, matched = "regex", regex[0]
        elif matched == "`" or (matched == "}" and braces and not braces[-1]):
            if matched == "}":
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
        position += len(matched)
        if kind != "space":
            if braces and matched in "{}":
                braces[-1] += 1 if matched == "{" else -1
            last = Token(kind, matched, line)
            yield last
        line += matched.count("\n")


def _match(pattern: re.Pattern[str], text: str, position: int) -> tuple[str, str]:
    """Returns the group that matches at a position, and its text; both patterns match any text."""
    match = pattern.match(text, position)
    return (match.lastgroup or "", match[0]) if match else ("", "")


def _may_be_regex(last: Token) -> bool:
    """Returns whether a slash after this token begins a regular expression."""
    if last.kind == "name":
        return last.text in _BEFORE_REGEX
    return last.kind == "mark" and last.text not in (")", "]", "}")
