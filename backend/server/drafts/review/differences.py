"""Lists the differences between two drafts or tasks, key by key, with a sentence for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from msgspec import Struct

from backend.translation import gettext, ngettext

_MAX_VALUE_LENGTH = 80
# Lines of both texts together; a line-by-line comparison of more takes too long.
_MAX_LINES = 2000
# Bounds the answer, however large the task files are.
MAX_CHANGES = 500


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its tables, its README, and the SHA-256 of its files by their kind."""

    task: Mapping[str, Any]
    readme: str
    files: Mapping[str, str]


class Difference(Struct):
    """One difference; `before` or `after` is None if only the other side has the key."""

    key: str
    before: Any
    after: Any
    text: str


def differences(before: Side, after: Side) -> list[Difference]:
    """Returns at most MAX_CHANGES differences, in the order of the keys: tables, files, README."""
    changes = [*_tables(before.task, after.task), *_files(before.files, after.files)]
    if before.readme != after.readme:
        changes.append(_texts(before.readme, after.readme))
    return changes[:MAX_CHANGES]


def _tables(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    first, second = dict(_flat(before)), dict(_flat(after))
    for key in sorted(first.keys() | second.keys()):
        left, right = first.get(key), second.get(key)
        if left != right or type(left) is not type(right):
            yield Difference(key, left, right, _sentence(key, left, right))


def _flat(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{path}{key}.")
        elif value is not None:
            yield f"{path}{key}", value


def _sentence(key: str, before: Any, after: Any) -> str:
    if before is None:
        sentence = gettext("%(key)s is added: %(after)s.")
    elif after is None:
        sentence = gettext("%(key)s is left out; it was %(before)s.")
    elif not (_number(before) and _number(after)):
        sentence = gettext("%(key)s changes from %(before)s to %(after)s.")
    elif after > before:
        sentence = gettext("%(key)s rises from %(before)s to %(after)s.")
    else:
        sentence = gettext("%(key)s falls from %(before)s to %(after)s.")
    return sentence % {"key": key, "before": _shown(before), "after": _shown(after)}


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"


def _files(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    for kind in sorted(before.keys() | after.keys()):
        left, right = before.get(kind), after.get(kind)
        if left == right:
            continue
        if left is None or right is None:
            sentence = gettext("Only the second has a %(kind)s file.")
            if right is None:
                sentence = gettext("Only the first has a %(kind)s file.")
            text = sentence % {"kind": _kind(kind)}
        else:
            text = gettext("The %(kind)s is another file.") % {"kind": _kind(kind)}
        yield Difference(f"{kind} file", left, right, text)


def _texts(before: str, after: str) -> Difference:
    if before.count("\n") + after.count("\n") > _MAX_LINES:
        return Difference("README.md", before, after, gettext("The description differs."))
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    added, removed = (sum(line.startswith(sign) for line in lines) for sign in "+-")
    text = ngettext(
        "The description differs: %(added)s line is added, %(removed)s left out.",
        "The description differs: %(added)s lines are added, %(removed)s left out.",
        added,
    )
    return Difference("README.md", before, after, text % {"added": added, "removed": removed})


def _kind(kind: str) -> str:
    return {"model": gettext("model"), "data": gettext("data")}.get(kind, kind)
