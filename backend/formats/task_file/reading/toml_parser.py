"""Parses TOML in a time that grows with its length alone: `tomllib` is quadratic in the parts of a key."""

from __future__ import annotations

import re
import tomllib
from typing import Any

# Parts of a dotted key or of a table's header. No task file needs a third of it.
MOST_KEY_PARTS = 16
# Strings and comments, whose dots separate nothing, the dots of keys, and what begins another key. `*+` gives
# nothing back, so that each character is read once. A string without end runs to the end, where `tomllib`
# refuses it; the order of the alternatives is that in which `tomllib` looks for them.
_TOKEN = re.compile(
    r'''
    (?P<skipped>
        """ (?: [^"\\] | \\. | "(?!"") )*+ "{0,5}
      | \'\'\' (?: [^'] | '(?!'') )*+ '{0,5}
      | " (?: [^"\\\n] | \\[^\n] )*+ "?
      | ' [^'\n]*+ '?
      | \# [^\n]*+
    )
    | (?P<dot> \. )
    | [\n=,\[\]{}]
    ''',
    re.DOTALL | re.VERBOSE,
)


def parse_toml(text: str) -> dict[str, Any]:
    """Returns the tables in `text`.

    Raises ValueError with the place in the text where it is not valid TOML or a key has over MOST_KEY_PARTS
    parts, and RecursionError for values that are nested too deep.
    """
    if (place := _endless_key(text)) is not None:
        line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
        raise ValueError(f"A key has over {MOST_KEY_PARTS} parts (at line {line}, column {column})")
    return tomllib.loads(text)


def _endless_key(text: str) -> int | None:
    """Returns where a key has its first part too many; None if there is no such key."""
    dots = 0
    for token in _TOKEN.finditer(text):
        match token.lastgroup:
            case "skipped":
                continue
            case "dot":
                dots += 1
                if dots >= MOST_KEY_PARTS:
                    return token.start()
            case _:
                dots = 0
    return None
