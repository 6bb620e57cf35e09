"""The task file as a whole."""

from __future__ import annotations

from msgspec import field

from backend.services.taskfile.checkpoints import Checkpoints
from backend.services.taskfile.coordination import Coordination, Training
from backend.services.taskfile.data import Data
from backend.services.taskfile.hooks import Hooks
from backend.services.taskfile.model import Model
from backend.services.taskfile.publication import Licence, Security, Try
from backend.services.taskfile.types import Line, Name, Part


class TaskFile(Part, frozen=True):
    """A whole task.toml."""

    name: Name
    title: Line
    model: Model
    data: Data
    coordination: Coordination
    summary: Line = ""
    topics: list[Line] = field(default_factory=list)
    training: Training = Training()
    checkpoints: Checkpoints = Checkpoints()
    hooks: Hooks = Hooks()
    security: Security = Security()
    trial: Try | None = field(name="try", default=None)
    licence: Licence = Licence()

    @property
    def fraction_evaluate(self) -> float:
        """The part of the clients that measure a version: where nothing is said, all on data of their own."""
        chosen = self.coordination.fraction_evaluate
        return (1.0 if self.data.own else 0.0) if chosen is None else chosen
