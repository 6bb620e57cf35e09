"""Defines the table [coordination.byzantine]: how the members of a mesh check each other's work."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.types import TaskTable
from backend.wire.mesh_fields import MOST_IN_GROUP


class ByzantineTable(TaskTable, frozen=True):
    """Lets members of a mesh check each other (Gorbunov et al. 2022); see docs/reference/mesh.md.

    In each round `validators` do another member's work again instead of their own. Pieces farther than
    `radius` from the mean have less weight; it is per root of a part's size, "auto" measures it. A mean
    farther than `far` radii from more than half of the pieces is made again by all. A newcomer has a seat
    after `probation` rounds, once so many members (`audits`) found its work right, or a majority of fewer.
    """

    validators: Annotated[int, Meta(ge=0, le=MOST_IN_GROUP // 2)] = 1
    radius: float | Literal["auto"] = "auto"
    far: float = 4.0
    probation: Annotated[int, Meta(ge=0, le=100_000)] = 100
    audits: Annotated[int, Meta(ge=0, le=1000)] = 17

    def __post_init__(self) -> None:
        if isinstance(self.radius, float) and not 0.0 < self.radius < math.inf:
            raise ValueError(
                f"radius is {self.radius:g}, and pieces that far from a mean would keep no weight in it: say "
                'a number above 0, or "auto", which measures it in each round'
            )
        if not 1.0 <= self.far < math.inf:
            raise ValueError(
                f"far is {self.far:g}, and an honest mean is about a radius from the pieces: below 1 all "
                "means would be made again by everybody. Say 1 or more; 4 is usual"
            )

    @property
    def fixed_radius(self) -> float | None:
        """The radius; None if it is measured."""
        return None if self.radius == "auto" else self.radius
