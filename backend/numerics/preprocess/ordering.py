"""The order of class names, categories and tokens that were found in data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)


def ordered(names: Iterable[str]) -> list[str]:
    """By value if all are whole numbers as Python writes them, of at most 15 digits; else by code points."""
    found = set(names)
    if all(_WHOLE.fullmatch(name) for name in found):
        return sorted(found, key=int)
    return sorted(found)


def most_frequent(counts: Mapping[str, int], at_most: int | None) -> list[str]:
    """The most frequent first, ties by code points."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:at_most]
