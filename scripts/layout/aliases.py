"""Finds imports under an alias that hides what is imported: `effects as do`, `messages as say`.

An alias is fine where everybody knows it (`np`), and where it tells two things of one name apart by adding to
the name: `mesh_events`, `TrainedFrame`. An alias that makes a sentence of its use hides which module is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scripts.layout.culprit import Culprit
from scripts.layout.facts import Alias, Facts

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Shorter words (`of`, `in`) may be part of anything.
_LONG_ENOUGH = 3


def find_aliases(files: Mapping[str, Facts], conventional: Mapping[str, str]) -> Iterator[Culprit]:
    """Aliases that are neither conventional (alias to full name) nor contain a word of the original."""
    for path, facts in files.items():
        for one in facts.aliases:
            if not is_plain(one, conventional):
                yield Culprit(f"{one.original} as {one.alias}", path, one.line)


def is_plain(one: Alias, conventional: Mapping[str, str]) -> bool:
    """Whether the alias says what it stands for: `keras_numpy`, `MeshEvent`, `np`."""
    whole = one.module if one.module.endswith(one.original) else f"{one.module}.{one.original}"
    if conventional.get(one.alias) == whole:
        return True
    alias = _words(one.alias)
    return any(
        word in alias or (len(word) >= _LONG_ENOUGH and word in "".join(alias))
        for word in _words(one.original)
    )


def _words(name: str) -> list[str]:
    """Words in small letters, without the s of a plural."""
    return [word.lower().removesuffix("s") for word in _WORD.findall(name)]
