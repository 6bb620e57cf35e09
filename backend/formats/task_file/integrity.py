"""Defines the table [security.integrity]: which versions are checked for signs of a backdoor, and how."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from backend.formats.task_file.types import Number, TaskTable

IntegrityPartName: TypeAlias = Literal["trigger", "drift", "updates"]


class IntegrityTable(TaskTable, frozen=True):
    """Offers only versions that passed a check for signs of a backdoor.

    The newest of each `every` versions is checked. A version fails from `limit` on, in any of the `parts`
    except `updates`, which brings checks forward (docs/explanation/integrity.md). `on_failure` says whether
    training continues until the owner decides.
    """

    parts: Annotated[tuple[IntegrityPartName, ...], Meta(min_length=1, max_length=3)] = (
        "trigger",
        "drift",
        "updates",
    )
    limit: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.5
    every: Number = 10
    on_failure: Literal["continue", "pause"] = "continue"

    def __post_init__(self) -> None:
        if len(set(self.parts)) < len(self.parts):
            raise ValueError("security.integrity.parts names a part twice; name it once")
        if self.parts == ("updates",):
            raise ValueError(
                "security.integrity.parts has updates alone, which neither fails a version nor clears one; "
                'add "trigger" or "drift"'
            )

    @property
    def compares(self) -> bool:
        """Whether a version is compared with the offered one."""
        return "drift" in self.parts or "updates" in self.parts
