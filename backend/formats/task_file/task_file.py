"""Defines the whole task file, task.toml, as one typed object."""

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
    """The content of task.toml. `follows` names the task that this one continues as a new version."""

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
        """The share of clients that evaluate a version, with its default.

        The default is 1 if only clients have the held-out examples, else 0. It is 0 for volunteers' own data
        if updates are masked or private: a measurement would reveal what the update hides about one client.
        """
        chosen = self.coordination.fraction_evaluate
        if chosen is None:
            if self.data.url is not None:
                return 1.0 if self.data.url.held_out else 0.0
            hidden = self.security.masks or self.privacy is not None
            return 1.0 if self.data.own and not hidden else 0.0
        return chosen
