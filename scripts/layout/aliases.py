"""Finds imports under an alias that hides what is imported: `effects as do`, `messages as say`.

An alias is allowed where it is conventional (`np`), and where it distinguishes two things of one name by
adding to the name: `mesh_events`, `TrainedFrame`. An alias that turns its uses into sentences hides which
module is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from scripts.layout.culprit import Culprit
from scripts.layout.facts import Alias, Facts

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Shorter words (`of`, `in`) occur within many others.
_MIN_LENGTH = 3


def find_aliases(files: Mapping[str, Facts], conventional: Mapping[str, str]) -> Iterator[Culprit]:
    """Yields aliases that are neither conventional nor contain a word of the original.

    `conventional` maps an alias to the full name.
    """
    for path, facts in files.items():
        for alias in facts.aliases:
            if not is_descriptive(alias, conventional):
                yield Culprit(f"{alias.original} as {alias.alias}", path, alias.line)


def is_descriptive(import_alias: Alias, conventional: Mapping[str, str]) -> bool:
    """Returns whether the alias describes its module: `keras_numpy`, `MeshEvent`, `np`."""
    full_name = (
        import_alias.module
        if import_alias.module.endswith(import_alias.original)
        else f"{import_alias.module}.{import_alias.original}"
    )
    if conventional.get(import_alias.alias) == full_name:
        return True
    alias = _words(import_alias.alias)
    return any(
        word in alias or (len(word) >= _MIN_LENGTH and word in "".join(alias))
        for word in _words(import_alias.original)
    )


def _words(name: str) -> list[str]:
    """Returns the lower-case words of a name, without the plural's s."""
    return [word.lower().removesuffix("s") for word in _WORD.findall(name)]
