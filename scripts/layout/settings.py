"""Reads the limits of the figures: house.toml (ceilings, exceptions) and old_words.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
KINDS = ("class", "module", "function", "identifier")
PHRASES = "phrase"


@dataclass(frozen=True)
class OldWord:
    """A word to replace; `within` and `outside` name folders or files (no suffix) in its paths."""

    kind: str
    old: str
    new: str
    within: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    language: str = ""
    starts: bool = False


@dataclass(frozen=True)
class Settings:
    """Ceilings by figure, and the exceptions `shared_names` (with reasons) and `aliases`.

    `aliases` maps an allowed alias to its original, `old_phrases` a phrase to what replaces it.
    """

    ceilings: Mapping[str, int] = field(default_factory=dict)
    shared_names: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    old_words: tuple[OldWord, ...] = ()
    old_phrases: Mapping[str, str] = field(default_factory=dict)


def read_settings(house: Path = HERE / "house.toml", words: Path = HERE / "old_words.toml") -> Settings:
    """Reads both files."""
    table = tomllib.loads(house.read_text("utf-8"))
    text = words.read_text("utf-8")
    return Settings(
        table["ceilings"],
        table["shared_class_names"],
        table["aliases"],
        read_old_words(text),
        tomllib.loads(text)[PHRASES],
    )


def read_old_words(text: str) -> tuple[OldWord, ...]:
    """Reads a table per kind; a word is `old = "new"` or `old = { new = "new", within = [...] }`."""
    old_words = []
    for kind, words in tomllib.loads(text).items():
        if kind == PHRASES:
            continue
        if kind not in KINDS:
            raise ValueError(f"[{kind}] is none of {', '.join(KINDS)}")
        for old, value in words.items():
            row = {"new": value} if isinstance(value, str) else dict(value)
            for name in ("within", "outside"):
                row[name] = frozenset(row.get(name, ()))
            old_words.append(OldWord(kind, old, **row))
    return tuple(old_words)


def lower_ceilings(text: str, counts: Mapping[str, int]) -> str:
    """Returns house.toml with each ceiling lowered to the current count; none is raised."""
    start, heading, rest = text.partition("[ceilings]\n")

    def lowered(match: re.Match[str]) -> str:
        name, ceiling = match[1], int(match[2])
        return f"{name} = {min(ceiling, counts.get(name, ceiling))}"

    table, bracket, others = rest.partition("\n[")
    return start + heading + re.sub(r"(?m)^(\w+) = (\d+)$", lowered, table) + bracket + others
