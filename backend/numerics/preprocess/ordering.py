"""Orders class names, categories and tokens found in data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,14}", re.ASCII)


def ordered(names: Iterable[str]) -> list[str]:
    """Sorts by value if all are whole numbers (in Python's form, up to 15 digits), else by code points."""
    unique = set(names)
    if all(_WHOLE.fullmatch(name) for name in unique):
        return sorted(unique, key=int)
    return sorted(unique)


def most_frequent(counts: Mapping[str, int], at_most: int | None) -> list[str]:
    """Returns the most frequent tokens, the most frequent first, ties by code points."""
    return sorted(counts, key=lambda token: (-counts[token], token))[:at_most]
