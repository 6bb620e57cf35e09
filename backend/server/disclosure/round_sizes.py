"""How few updates the version of a round may consist of."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.formats.task_file.robust import BucketingStep, RobustTable

# These choose among the updates; FoolsGold may give all but one of them no weight.
_CHOOSES_ONE, _CHOOSES_SOME = ("krum", "fools-gold"), ("multi-krum", "mda", "dnc")


def fewest_updates(file: TaskFile) -> int:
    """Returns the smallest number of updates in a version, if any of a round's clients lie.

    Clients in quarantine may be all but one. A rule's round may have as many updates, or masked groups, less
    than planned as it bears false ones: they are refused, or left out by rules that choose.
    """
    security, quorum = file.security, file.coordination.quorum
    robust, masking = security.robust, security.masked
    if robust is not None and robust.groups is not None:
        return masking.min_clients * max(1, _fewest_rows(robust, robust.groups))
    if security.aggregation == ("masked",):
        return max(quorum, masking.min_clients)
    if security.reputation is not None:
        return 1
    return quorum if robust is None else max(1, _fewest_rows(robust, quorum))


def _fewest_rows(table: RobustTable, count: int) -> int:
    """Returns the fewest of `count` updates, or means of groups, that make an aggregate."""
    sizes = [step.size for step in table.before if isinstance(step, BucketingStep)]
    # The last bucket may hold a single update.
    rows = -(-count // sizes[0]) if sizes else count
    if table.rule in _CHOOSES_ONE:
        return count - table.attackers if "nnm" in table.before and not sizes else 1
    if table.rule in _CHOOSES_SOME:
        return rows - table.attackers
    if table.rule == "flame":
        return (rows - table.attackers) // 2 + 1
    return count - table.attackers
