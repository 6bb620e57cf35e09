"""Defines the facts that readers collect from a source file, for Python and TypeScript alike."""

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
    """A function or method with its first line and its length; `name` is empty for anonymous ones."""

    name: str
    line: int
    lines: int


@dataclass(frozen=True)
class Import:
    """An import at run time: a module, and for `from module import name` the name."""

    module: str
    name: str = ""


@dataclass(frozen=True)
class Alias:
    """An import under another name; `original` is the last part of its own name."""

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
    """All facts of one file that the figures need."""

    lines: int
    classes: list[Definition] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    checks: list[TypeCheck] = field(default_factory=list)
    identifiers: Counter[str] = field(default_factory=Counter)
