"""Checks that a server can check a task's versions, and roll it back."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.task_file import TaskFile

TABLE = "[security.integrity]"


def integrity_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with checks of versions, with an alternative."""
    integrity = file.security.integrity
    if integrity is None:
        return
    scheme = file.coordination.scheme
    if scheme != "federated":
        yield (
            f'{TABLE} cannot be combined with scheme = "{scheme}": only rounds on a server can be '
            "rolled back while they train. Leave it out, and check versions with `minga task integrity`."
        )
