"""The task file: docs/reference/task-file.md is its specification, this its typed form, a file per table."""

from backend.services.taskfile.addressed import UrlData, UrlFile
from backend.services.taskfile.averaging import Averaging
from backend.services.taskfile.checkpoints import Checkpoints
from backend.services.taskfile.coordination import Coordination, Stop, Target, Training
from backend.services.taskfile.data import Data, Partition, VolunteerData
from backend.services.taskfile.model import Model, Optimizer, Schedule
from backend.services.taskfile.privacy import Privacy
from backend.services.taskfile.publication import Consent, Ethics, Licence, Try
from backend.services.taskfile.read import parse_task, read_task_file
from backend.services.taskfile.security import Masking, Security
from backend.services.taskfile.units import Units
from backend.services.taskfile.whole import TaskFile

__all__ = [
    "Averaging",
    "Checkpoints",
    "Consent",
    "Coordination",
    "Data",
    "Ethics",
    "Licence",
    "Masking",
    "Model",
    "Optimizer",
    "Partition",
    "Privacy",
    "Schedule",
    "Security",
    "Stop",
    "Target",
    "TaskFile",
    "Training",
    "Try",
    "Units",
    "UrlData",
    "UrlFile",
    "VolunteerData",
    "parse_task",
    "read_task_file",
]
