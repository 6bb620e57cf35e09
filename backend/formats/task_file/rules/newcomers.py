"""Checks that what newcomers have to do first goes with the scheme of the task."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.publication import ProbationTable, WorkTable
from backend.formats.task_file.task_file import TaskFile
from backend.formats.task_file.units import TrustTable

PROBATION, WORK = 'access.newcomers = "probation"', 'access.newcomers = "work"'


def newcomer_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with [access] newcomers, with an alternative."""
    if file.access.newcomers == "probation":
        yield from _probation_conflicts(file)
    elif file.access.probation != ProbationTable():
        yield f"[access.probation] has no effect without {PROBATION}. Say that, or leave the table out."
    if file.access.work != WorkTable() and file.access.newcomers != "work":
        yield f"[access.work] has no effect without {WORK}. Say that, or leave the table out."


def _probation_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields what keeps the server from leaving out the updates of newcomers alone."""
    if file.coordination.decentralized:
        yield (
            f'{PROBATION} cannot be combined with scheme = "decentralized": peers average among themselves, '
            'and no server leaves out a newcomer. Take "work" or "invited".'
        )
    if file.security.masks:
        yield (
            f'{PROBATION} cannot be combined with security.aggregation = ["masked"]: the server sees a sum '
            "only, from which it can leave out no newcomer, and a newcomer that is in no sum would never "
            'have an update checked. Take "work" or "invited", or aggregation = ["open"].'
        )
    if file.coordination.units is not None:
        yield from _unit_conflicts(file, file.coordination.units.trust)


def _unit_conflicts(file: TaskFile, trust: TrustTable) -> Iterator[str]:
    """Yields settings by which results of newcomers would count without a comparison."""
    if trust.replicas < 2:
        yield (
            f"{PROBATION} has results of newcomers compared before they count, and with "
            "coordination.units.trust.replicas = 1 they count on arrival. Raise replicas to 2."
        )
    if file.access.probation != ProbationTable():
        yield (
            '[access.probation] cannot be combined with scheme = "volunteer", which has no rounds: '
            "coordination.units.trust.proven says how many results are compared. Leave the table out."
        )
