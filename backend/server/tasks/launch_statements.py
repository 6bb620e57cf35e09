"""What the owner of a task has to say before people take part, and what of it is still missing.

A private test needs the licences and a contact: the people in it are invited. Everybody else also reads what
the task is for, why the data may be used, and whom it could harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from backend.formats.task_file import TaskFile
from backend.server.tasks.ethics_statement import consent_missing, contact_missing, ethics_missing
from backend.translation import gettext, listed

# Tables and keys of the task file that contain these statements, and texts that go with them.
STATED = ("title", "summary", "topics", "licence", "consent", "ethics")


class LaunchStatement(Struct, frozen=True):
    """A statement that a launch needs: the sentence if it is `done`, the `remedy` if it is missing."""

    key: str
    done: str
    remedy: str | None
    for_test: bool


def statements(tables: Mapping[str, Any]) -> list[LaunchStatement]:
    """Returns all statements, in the order of the form; `tables` are those of a task file."""
    licence, ethics = _table(tables, "licence"), _table(tables, "ethics")
    unanswered = ethics_missing(ethics)
    return [
        LaunchStatement(
            "summary",
            gettext("The summary is written."),
            None if tables.get("summary") else gettext("Say in one sentence what the task is for."),
            for_test=False,
        ),
        LaunchStatement(
            "licence",
            gettext("The licences are given."),
            None
            if licence.get("model") and licence.get("data")
            else gettext("Choose the licences of the model and the data."),
            for_test=True,
        ),
        LaunchStatement(
            "consent",
            gettext("The reason why the data may be used is given."),
            consent_missing(_table(tables, "consent")),
            for_test=False,
        ),
        LaunchStatement(
            "ethics",
            gettext("The questions about people and harm are answered."),
            gettext("Say %(answers)s.") % {"answers": listed(unanswered)} if unanswered else None,
            for_test=False,
        ),
        LaunchStatement("contact", gettext("A contact is given."), contact_missing(ethics), for_test=True),
    ]


def missing_statements(file: TaskFile) -> list[LaunchStatement]:
    """Returns what a task in a private test lacks before its launch for everybody."""
    return [one for one in statements(msgspec.to_builtins(file)) if one.remedy is not None]


def _table(tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Returns a table; empty if it is no table, which the task file's own check reports."""
    table = tables.get(name)
    return table if isinstance(table, Mapping) else {}
