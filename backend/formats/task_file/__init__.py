"""Defines the task file's typed form, one module per table; docs/reference/task-file.md specifies it."""

from backend.formats.task_file.averaging import Averaging
from backend.formats.task_file.byzantine import ByzantineTable
from backend.formats.task_file.checkpoints import Checkpoints
from backend.formats.task_file.coordination import Coordination, StopTable, Target, Training
from backend.formats.task_file.data import Data, Partition, VolunteerData
from backend.formats.task_file.integrity import IntegrityTable
from backend.formats.task_file.model import ModelTable, OptimizerTable, Schedule
from backend.formats.task_file.privacy import PrivacyTable
from backend.formats.task_file.publication import Consent, Ethics, Licence, Try
from backend.formats.task_file.reading.reader import parse_task, read_task_file
from backend.formats.task_file.reputation import ReputationTable
from backend.formats.task_file.robust import RobustTable
from backend.formats.task_file.rules.exactness import Exactness, exactness
from backend.formats.task_file.security import KeptUpdatesTable, MaskingTable, Security
from backend.formats.task_file.task_file import TaskFile
from backend.formats.task_file.units import Units
from backend.formats.task_file.url_data import UrlData, UrlFile

__all__ = [
    "Averaging",
    "ByzantineTable",
    "Checkpoints",
    "Consent",
    "Coordination",
    "Data",
    "Ethics",
    "Exactness",
    "IntegrityTable",
    "KeptUpdatesTable",
    "Licence",
    "MaskingTable",
    "ModelTable",
    "OptimizerTable",
    "Partition",
    "PrivacyTable",
    "ReputationTable",
    "RobustTable",
    "Schedule",
    "Security",
    "StopTable",
    "Target",
    "TaskFile",
    "Training",
    "Try",
    "Units",
    "UrlData",
    "UrlFile",
    "VolunteerData",
    "exactness",
    "parse_task",
    "read_task_file",
]
