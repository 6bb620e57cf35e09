"""The task file: docs/reference/task-file.md is its specification, this its typed form, a file per table."""

from backend.services.taskfile.checkpoints import Checkpoints
from backend.services.taskfile.coordination import Coordination, Stop, Target, Training
from backend.services.taskfile.data import Data, Partition, VolunteerData
from backend.services.taskfile.model import Model, Optimizer, Schedule
from backend.services.taskfile.publication import Licence, Security, Try
from backend.services.taskfile.read import parse_task, read_task_file
from backend.services.taskfile.whole import TaskFile

__all__ = [
    "Checkpoints",
    "Coordination",
    "Data",
    "Licence",
    "Model",
    "Optimizer",
    "Partition",
    "Schedule",
    "Security",
    "Stop",
    "Target",
    "TaskFile",
    "Training",
    "Try",
    "VolunteerData",
    "parse_task",
    "read_task_file",
]
