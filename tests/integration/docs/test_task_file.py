"""docs/reference/task-file.md against the task file that is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from backend.formats.task_file import TaskFile
from tests.integration.docs.test_docs import ROOT

# Preprocessing has a page of its own.
PAGES = [ROOT / "docs/reference/task-file.md", ROOT / "docs/reference/preprocessing.md"]
TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)


def tables(hint: Any) -> Iterator[type[msgspec.Struct]]:
    """The tables that a value of this type may be, in lists and alternatives too."""
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        yield hint
    for part in get_args(hint):
        yield from tables(part)


def keys(table: type[msgspec.Struct], path: str = "") -> Iterator[str]:
    """Every key of a table and of those inside it, such as `coordination.stop.target`."""
    hints = get_type_hints(table)
    for field in msgspec.structs.fields(table):
        yield path + field.encode_name
        for inner in tables(hints[field.name]):
            yield from keys(inner, f"{path}{field.encode_name}.")


KEYS = sorted(set(keys(TaskFile)))


def test_keys_are_found_in_tables_of_tables() -> None:
    assert {"name", "coordination.stop.target.metric", "model.optimizer.schedule.alpha"} <= set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_the_reference_has_every_key_of_the_task_file(key: str) -> None:
    last = re.escape(key.rpartition(".")[2])
    assert re.search(rf"`{last}`|\b{last} = |[\[.]{last}\]", TEXT), f"{key} is not documented"
