"""What the parts of one task's host work on together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from backend.numerics.aggregate import WeightedMean
from backend.numerics.vectors import Vector
from backend.protocols.effects import Effect
from backend.protocols.round import Round
from backend.services.audience import Audience
from backend.services.ledger import Ledger
from backend.services.limits import TaskLimits
from backend.services.observer import Event as Happening
from backend.services.observer import Observer
from backend.services.tally import Tally
from backend.services.task import Task
from backend.services.uploads import Uploads

# Something that happened, to be brought before the machine at the time it is given.
Event: TypeAlias = Callable[[float], list[Effect]]


@dataclass
class Hosted:
    """One task's machine and all that stands around it. Changed by the host's loop alone.

    `checked` holds the updates that were found good, until they are accepted. `trouble` says why the task
    waits for its stores; None while all is well.
    """

    task: Task
    ledger: Ledger
    machine: Round
    observer: Observer
    limits: TaskLimits
    uploads: Uploads = field(init=False)
    audience: Audience = field(default_factory=Audience)
    tally: Tally = field(default_factory=lambda: Tally(WeightedMean(0)))
    checked: dict[str, Vector] = field(default_factory=dict)
    trouble: str | None = None

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.limits)

    def notice(self, event: Happening) -> None:
        """Tells whoever watches."""
        self.observer.notice(self.task.file.name, event)

    @property
    def size(self) -> int:
        """Number of values of the task's flat vector."""
        return self.task.bundle.manifest.parameters.total
