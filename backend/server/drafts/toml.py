"""Writes tables as TOML text that `tomllib` reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def to_toml(tables: Mapping[str, Any]) -> str:
    """Returns TOML of strings, numbers, booleans, lists and tables; None values are omitted.

    Tables become sections, tables within lists become inline tables. Raises TypeError for other types.
    """
    return "\n".join(_section(tables, ())).strip("\n") + "\n"


def _section(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    plain = {
        key: value for key, value in table.items() if not isinstance(value, Mapping) and value is not None
    }
    if path and (plain or not any(isinstance(value, Mapping) for value in table.values())):
        yield f"\n[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _section(value, (*path, key))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            # `repr` keeps a whole number a float; `nan` and `inf` are valid TOML.
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            pairs = (f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
    raise TypeError(f"{type(value).__name__} is nothing that TOML can say")


def _text(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
