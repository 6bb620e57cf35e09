"""The task file as a whole."""

from __future__ import annotations

from msgspec import field

from backend.formats.task_file.alerts import AlertRules
from backend.formats.task_file.checkpoints import Checkpoints
from backend.formats.task_file.coordination import Coordination, Training
from backend.formats.task_file.data import Data
from backend.formats.task_file.hooks import Hooks
from backend.formats.task_file.model import ModelTable
from backend.formats.task_file.privacy import PrivacyTable
from backend.formats.task_file.publication import AccessTable, Consent, Ethics, Licence, Try
from backend.formats.task_file.security import Security
from backend.formats.task_file.types import Line, Name, TaskTable


class TaskFile(TaskTable, frozen=True):
    """A whole task.toml. `follows` names the task of which this is a new version."""

    name: Name
    title: Line
    model: ModelTable
    data: Data
    coordination: Coordination
    summary: Line = ""
    topics: list[Line] = field(default_factory=list)
    follows: Name | None = None
    training: Training = Training()
    checkpoints: Checkpoints = Checkpoints()
    hooks: Hooks = Hooks()
    alerts: AlertRules = AlertRules()
    security: Security = Security()
    privacy: PrivacyTable | None = None
    trial: Try | None = field(name="try", default=None)
    licence: Licence = Licence()
    consent: Consent = Consent()
    ethics: Ethics = Ethics()
    access: AccessTable = AccessTable()

    @property
    def fraction_evaluate(self) -> float:
        """The part of the clients that measure a version, where nothing is said.

        All, where only clients have the held-out examples. But nobody on their own where updates are masked
        or private: a measurement would tell of one client's data what its update hides.
        """
        chosen = self.coordination.fraction_evaluate
        if chosen is None:
            if self.data.url is not None:
                return 1.0 if self.data.url.held_out else 0.0
            hidden = self.security.masks or self.privacy is not None
            return 1.0 if self.data.own and not hidden else 0.0
        return chosen
