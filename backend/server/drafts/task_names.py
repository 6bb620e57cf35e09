"""Checks whether the name of a draft is free, and suggests one that is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import msgspec
from msgspec import Struct

from backend.formats.task_file.types import Name
from backend.server.drafts.record import Draft
from backend.translation import gettext

_NUMBERED = re.compile(r"(.*)-(\d{1,6})")
_MOST = 64


class NameCheck(Struct, frozen=True):
    """Why a name cannot be used, in a sentence, and a free one like it; both None if it can."""

    problem: str | None = None
    suggestion: str | None = None


def name_of(draft: Draft) -> str:
    """Returns the name of a draft's task; empty if it is no text."""
    name = draft.task.get("name")
    return name if isinstance(name, str) else ""


def check_name(
    name: str, tasks: Collection[str], drafts: Iterable[Draft], owner: str, draft: Draft | None = None
) -> NameCheck:
    """Checks a name of `draft`, or of a new draft of `owner`, against those of tasks and of older drafts."""
    try:
        msgspec.convert(name, Name)
    except msgspec.ValidationError:
        return NameCheck(
            gettext(
                "A name has 1 to 64 characters: a to z, 0 to 9 and -, and does not begin with -. It ends the "
                "task's address."
            )
        )
    others = [other for other in drafts if draft is None or _older(other, draft)]
    taken = {name_of(other) for other in others} | set(tasks)
    if name not in taken:
        return NameCheck()
    free = suggestion(name, taken)
    if name in tasks:
        sentence = gettext("There is a task called '%(name)s' already. Take another name, %(free)s say.")
    elif any(name_of(other) == name and other.owner == owner for other in others):
        sentence = gettext("Another draft of yours is called '%(name)s'. Take another name, %(free)s say.")
    else:
        sentence = gettext(
            "Somebody else prepares a task called '%(name)s'. Take another name, %(free)s say."
        )
    return NameCheck(sentence % {"name": name, "free": free}, free)


def suggestion(name: str, taken: Collection[str]) -> str:
    """Returns the first free name like this one: `cats-2` after `cats`, `cats-3` after `cats-2`."""
    match = _NUMBERED.fullmatch(name)
    stem, number = (match[1], int(match[2])) if match and match[1] else (name, 1)
    while True:
        number += 1
        end = f"-{number}"
        candidate = f"{stem[: _MOST - len(end)]}{end}"
        if candidate not in taken:
            return candidate


def _older(other: Draft, draft: Draft) -> bool:
    return other is not draft and (other.created, other.id) < (draft.created, draft.id)
