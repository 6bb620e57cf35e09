"""Lets owners complete what their task says of itself while it is in a private test.

After the launch for everybody it stays as it is: people decided by it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from backend.formats.task_file import TaskFile, read_task_file
from backend.formats.task_file.publication import Consent, Ethics, Licence
from backend.formats.task_file.reading.dotted_keys import value_at
from backend.formats.task_file.reading.reader import read_task_tables
from backend.formats.task_file.types import Line
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.tasks.launch_statements import STATED, statements
from backend.server.tasks.markdown import rendered
from backend.server.tasks.task import README, TASK_FILE
from backend.stores.error_translation import translated
from backend.stores.plan_changes import PlanAmendment, PlanChanges


class TaskDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """The parts of a task file that people read. They replace those that the task has."""

    title: Annotated[str, Meta(max_length=300)]
    summary: Line = ""
    topics: list[Line] = field(default_factory=list)
    licence: Licence = Licence()
    consent: Consent = Consent()
    ethics: Ethics = Ethics()


@dataclass
class Descriptions:
    """Reads and changes descriptions. A change is recorded before it is shown; no client notices it."""

    registry: TaskRegistry
    plans: PlanChanges
    clock: Callable[[], float] = time.time

    async def of(self, name: str) -> dict[str, Any]:
        """Returns the description, and what a launch for everybody still lacks (docs/reference/http.md).

        Raises NotFoundError or StoreError.
        """
        file = self.registry.host(name).task.file
        with translated("The task's README.md cannot be read"):
            readme = await asyncio.to_thread(_read, self.registry.task(name).folder / README)
        tables = msgspec.to_builtins(file)
        told = {key: _without_empty(tables[key]) for key in STATED}
        return {
            "task": told,
            "data": {"source": file.data.source},
            "readme": readme,
            "checklist": [
                {"key": one.key, "state": "todo" if one.remedy else "done", "text": one.remedy or one.done}
                for one in statements(tables)
            ],
        }

    async def change(self, name: str, asked: TaskDescription | None, readme: str | None) -> None:
        """Changes the description of a task in a private test.

        Raises OrderError for a launched task, TaskFileError, NotFoundError or StoreError.
        """
        async with self.registry.task(name).lifecycle.in_private_test():
            folder, host = self.registry.task(name).folder, self.registry.host(name)
            if asked is not None:
                await self._change_tables(name, folder / TASK_FILE, asked)
            if readme is not None:
                with translated("The task's README.md cannot be written"):
                    await asyncio.to_thread(_replace, folder / README, readme)
                html = await asyncio.to_thread(rendered, readme)
                host.task = replace(host.task, readme_html=html)

    async def _change_tables(self, name: str, path: Path, asked: TaskDescription) -> None:
        told: dict[str, Any] = msgspec.to_builtins(asked)
        tables = await asyncio.to_thread(read_task_tables, path)
        now = self.clock()
        new = [
            PlanAmendment(key, _without_empty(told[key]), value_at(tables, key), now)
            for key in sorted(STATED)
        ]
        kept = {one.key: one for one in await self.plans.plan_changes(name)} | {one.key: one for one in new}
        changes = list(kept.values())
        file: TaskFile = await asyncio.to_thread(
            read_task_file, path, self.registry.overrides_of(name), changes
        )
        await self.plans.change_plan(name, new)
        self.registry.amend(name, file, changes)


def _without_empty(value: Any) -> Any:
    """Returns a value of the task file without the keys of unanswered questions."""
    if not isinstance(value, dict):
        return value
    return {key: inner for key, inner in value.items() if inner not in (None, "")}


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def _replace(path: Path, text: str) -> None:
    """Writes the file in one step, so that a killed server leaves the old or the new text."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, "utf-8")
    new.replace(path)
