"""Tables as TOML text: what `tomllib` reads, this writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def to_toml(tables: Mapping[str, Any]) -> str:
    """TOML of texts, numbers, truth values, lists and tables; what is None is left out.

    Tables become sections, those within lists inline tables. Raises TypeError for anything else.
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
            # A whole number stays a float; `nan` and `inf` are words of TOML, too.
            return repr(value)
        case str():
            return _text(value)
        case list() | tuple():
            return f"[{', '.join(map(_value, value))}]"
        case Mapping():
            pairs = (f"{_key(key)} = {_value(one)}" for key, one in value.items() if one is not None)
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
    raise TypeError(f"{type(value).__name__} is nothing that TOML can say")


def _text(text: str) -> str:
    return f'"{"".join(map(_character, text))}"'


def _character(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    return one if one.isprintable() else f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
