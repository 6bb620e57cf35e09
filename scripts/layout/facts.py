"""Defines the facts that a reader finds in one source file, the same for Python and TypeScript."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Definition:
    """A class, interface or type at the top of a file."""

    name: str
    line: int


@dataclass(frozen=True)
class Function:
    """A function or method, from its first line to its last; `name` is empty for one without a name."""

    name: str
    line: int
    lines: int


@dataclass(frozen=True)
class Import:
    """What runs when the file does: a module, and for `from module import name` the name."""

    module: str
    name: str = ""


@dataclass(frozen=True)
class Alias:
    """Something imported under another name. `original` is the last part of its own name."""

    module: str
    original: str
    alias: str
    line: int


@dataclass(frozen=True)
class TypeCheck:
    """`isinstance(value, classes)`, or a class in a `case`: last parts of the names, and the line."""

    value: str
    classes: tuple[str, ...]
    line: int


@dataclass
class Facts:
    """All that the figures need to know of one file."""

    lines: int
    classes: list[Definition] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    checks: list[TypeCheck] = field(default_factory=list)
    identifiers: Counter[str] = field(default_factory=Counter)
