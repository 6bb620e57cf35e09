"""Lists the problems of a task file's text, each with its line and an explanation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from backend.errors import TaskFileError
from backend.formats.task_file.reading.hints import explain
from backend.formats.task_file.reading.toml_parser import parse_toml
from backend.formats.task_file.rules.combinations import contradiction
from backend.formats.task_file.task_file import TaskFile

# Finding the line of each problem scans the whole text.
MAX_PROBLEMS = 50
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
    """A problem in words, and its line number: from 1, None if it concerns the whole file."""

    line: int | None
    text: str


Complete = Callable[[dict[str, Any]], dict[str, Any]]


def unchanged(tables: dict[str, Any]) -> dict[str, Any]:
    """Returns the tables as they are."""
    return tables


def problems(text: str, complete: Complete = unchanged) -> list[Problem]:
    """Returns the problems of a text; an empty list if the task file is valid.

    Reports a TOML error alone; otherwise the first fault of each table; if the tables have none, the first
    contradiction between tables. `complete` adds keys that the writer may omit; a TaskFileError that it
    raises is reported as a problem.
    """
    try:
        tables = complete(parse_toml(text))
    except TaskFileError as error:
        return [Problem(None, str(error))]
    except (ValueError, RecursionError) as error:
        return [_broken(str(error), len(text.splitlines()))]
    if faults := list(islice(_faults(text, tables), MAX_PROBLEMS)):
        return sorted(faults, key=lambda problem: problem.line or 0)
    sentence = contradiction(msgspec.convert(tables, TaskFile))
    return [Problem(None, sentence)] if sentence else []


def line_of(text: str, path: list[str]) -> int | None:
    """Returns the line that defines the longest prefix of a key path; None if no prefix is in the text."""
    best, length, table = None, 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            line_path = table = _names(header[1])
        elif key := _KEY.match(line):
            line_path = [*table, *_names(key[1])]
        else:
            continue
        if length < len(line_path) <= len(path) and path[: len(line_path)] == line_path:
            best, length = number, len(line_path)
    return best


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _broken(message: str, last: int) -> Problem:
    place = re.search(r"\(at line (\d+), column (\d+)\)", message)
    reason = message.partition(" (at ")[0]
    if place is None:
        return Problem(last or None, f"This is not valid TOML: {reason}, at its end.")
    return Problem(int(place[1]), f"This is not valid TOML: {reason}, at character {place[2]} of the line.")


def _faults(text: str, tables: dict[str, Any]) -> Iterator[Problem]:
    fields = {field.encode_name: field for field in msgspec.structs.fields(TaskFile)}
    for name, value in tables.items():
        if name not in fields:
            yield Problem(line_of(text, [name]), f"There is no key or table called `{name}` in a task file.")
            continue
        try:
            msgspec.convert(value, fields[name].type)
        except msgspec.ValidationError as error:
            yield _fault(text, name, error)
    for name, field in fields.items():
        if field.required and name not in tables:
            yield Problem(None, f"`{name}` is missing.")


def _fault(text: str, table: str, error: msgspec.ValidationError) -> Problem:
    message = str(error)
    at = _AT.search(message)
    inner = re.sub(r"\[[^]]*\]", "", at[1] if at else "")
    path = [table, *filter(None, inner.split("."))]
    if field := _FIELD.search(message):
        place = ".".join(path)
        unknown, name = field[1] == "unknown", field[2]
        sentence = (
            f"There is no key `{name}` in [{place}]." if unknown else f"[{place}] lacks the key `{name}`."
        )
        return Problem(line_of(text, [*path, name]), sentence)
    key = f"`{'.'.join(path)}`"
    return Problem(line_of(text, path), _type_error(key, _AT.sub("", message)) or explain(error, table))


def _type_error(key: str, message: str) -> str | None:
    """Rewords a type error of msgspec; returns None for a message that a table's own check wrote."""
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
