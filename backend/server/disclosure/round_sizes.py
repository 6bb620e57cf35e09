"""How few updates the version of a round may consist of."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.formats.task_file.robust import BucketingStep, RobustTable

# These choose among the updates; FoolsGold may give all but one of them no weight.
_CHOOSES_ONE, _CHOOSES_SOME = ("krum", "fools-gold"), ("multi-krum", "mda", "dnc")


def fewest_updates(file: TaskFile) -> int:
    """Returns the smallest number of updates in a version, if any of a round's clients lie.

    Clients in quarantine may be all but one. A rule's round may have as many updates less than the quorum as
    it bears false ones: they are refused, or left out by rules that choose.
    """
    security, quorum = file.security, file.coordination.quorum
    if security.aggregation == ("masked",):
        return max(quorum, security.masked.min_clients)
    if security.reputation is not None:
        return 1
    return quorum if security.robust is None else max(1, _fewest_by_rule(security.robust, quorum))


def _fewest_by_rule(table: RobustTable, quorum: int) -> int:
    sizes = [step.size for step in table.before if isinstance(step, BucketingStep)]
    # The last bucket may hold a single update.
    rows = -(-quorum // sizes[0]) if sizes else quorum
    if table.rule in _CHOOSES_ONE:
        return quorum - table.attackers if "nnm" in table.before and not sizes else 1
    if table.rule in _CHOOSES_SOME:
        return rows - table.attackers
    if table.rule == "flame":
        return (rows - table.attackers) // 2 + 1
    return quorum - table.attackers
