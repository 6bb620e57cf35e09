"""What is wrong in a task file's text, by line and in words, as far as it can be told at once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from backend.errors import TaskFileError
from backend.formats.task_file.reading.hints import explained
from backend.formats.task_file.rules.combinations import contradiction
from backend.formats.task_file.task_file import TaskFile

# Each is looked for in the whole text.
MOST_PROBLEMS = 50
_HEADER = re.compile(r"\s*\[+([^\[\]]+)\]+")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*[A-Za-z0-9_-]+)*)\s*=""")
_AT = re.compile(r" - at `\$\.?([^`]*)`")
_FIELD = re.compile(r"(unknown|missing required) field `([^`]+)`")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text in quotes",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}


class Problem(Struct):
    """A sentence, and the line that it is about: from 1 on, None where it is about the whole."""

    line: int | None
    text: str


Mend = Callable[[dict[str, Any]], dict[str, Any]]


def as_it_is(tables: dict[str, Any]) -> dict[str, Any]:
    """Changes nothing."""
    return tables


def problems(text: str, mend: Mend = as_it_is) -> list[Problem]:
    """Everything that can be told of a text: its TOML, then the first fault of each table, then what does not
    go together. Empty where the task file is sound.

    `mend` adds to the tables what their writer need not say; its TaskFileError is told, too.
    """
    try:
        tables = mend(tomllib.loads(text))
    except TaskFileError as error:
        return [Problem(None, str(error))]
    except (ValueError, RecursionError) as error:
        return [_broken(str(error), len(text.splitlines()))]
    if found := list(islice(_faults(text, tables), MOST_PROBLEMS)):
        return sorted(found, key=lambda one: one.line or 0)
    sentence = contradiction(msgspec.convert(tables, TaskFile))
    return [Problem(None, sentence)] if sentence else []


def line_of(text: str, path: list[str]) -> int | None:
    """The line of the longest beginning of a path of keys that stands in a text; None where none does."""
    best, length, table = None, 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            here = table = _names(header[1])
        elif key := _KEY.match(line):
            here = [*table, *_names(key[1])]
        else:
            continue
        if length < len(here) <= len(path) and path[: len(here)] == here:
            best, length = number, len(here)
    return best


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _broken(message: str, last: int) -> Problem:
    place = re.search(r"\(at line (\d+), column (\d+)\)", message)
    said = message.partition(" (at ")[0]
    if place is None:
        return Problem(last or None, f"This is not valid TOML: {said}, at its end.")
    return Problem(int(place[1]), f"This is not valid TOML: {said}, at character {place[2]} of the line.")


def _faults(text: str, tables: dict[str, Any]) -> Iterator[Problem]:
    fields = {one.encode_name: one for one in msgspec.structs.fields(TaskFile)}
    for name, value in tables.items():
        if name not in fields:
            yield Problem(line_of(text, [name]), f"There is no key or table called `{name}` in a task file.")
            continue
        try:
            msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as error:
            yield _fault(text, name, error)
    for name, one in fields.items():
        if one.required and name not in tables:
            yield Problem(None, f"`{name}` is missing.")


def _fault(text: str, table: str, error: msgspec.ValidationError) -> Problem:
    message = str(error)
    at = _AT.search(message)
    inner = re.sub(r"\[[^]]*\]", "", at[1] if at else "")
    path = [table, *filter(None, inner.split("."))]
    if field := _FIELD.search(message):
        place = ".".join(path)
        known, name = field[1] == "unknown", field[2]
        said = f"There is no key `{name}` in [{place}]." if known else f"[{place}] lacks the key `{name}`."
        return Problem(line_of(text, [*path, name]), said)
    key = f"`{'.'.join(path)}`"
    return Problem(line_of(text, path), _said(key, _AT.sub("", message)) or explained(error, table))


def _said(key: str, message: str) -> str | None:
    """The message of a type in words; None for one that its own type wrote."""
    if match := re.fullmatch(r"Expected `([^`]+)`, got `([^`]+)`", message):
        return f"{key} should be {_kinds(match[1])}, not {_kinds(match[2])}."
    if match := re.fullmatch(r"Expected `([^`]+)` (>=|<=|>|<) (\S+)", message):
        sign = {">=": "at least", "<=": "at most", ">": "above", "<": "below"}[match[2]]
        return f"{key} should be {_kinds(match[1])}, {sign} {match[3]}."
    if match := re.fullmatch(r"Expected `str` of length (<=|>=) (\d+)", message):
        return f"{key} should have {'at most' if match[1] == '<=' else 'at least'} {match[2]} characters."
    if message.startswith("Expected `str` matching regex"):
        return f"{key} has a form that cannot be used here; a name is made of a-z, 0-9 and -."
    if match := re.fullmatch(r"Invalid enum value '?([^']*)'?", message):
        return f"{key} cannot be {match[1]!r}; docs/reference/task-file.md lists what it can be."
    return None


def _kinds(words: str) -> str:
    return " or ".join(_KINDS.get(word.strip(), word.strip()) for word in words.split("|"))
