"""Checks that a robust rule sees single updates, and enough of them."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.robust import RobustTable
from backend.formats.task_file.rules.masked_groups import group_conflicts
from backend.formats.task_file.task_file import TaskFile

TABLE = "[security.robust]"


def robust_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with a robust rule, with an alternative."""
    robust = file.security.robust
    if robust is None:
        return
    if file.coordination.decentralized:
        yield (
            f'{TABLE} cannot be combined with scheme = "decentralized": no server sees updates. Leave it '
            'out; coordination.averaging.reducer = "trimmed_mean" bounds what one peer can do.'
        )
    if file.coordination.volunteer:
        yield (
            f'{TABLE} cannot be combined with scheme = "volunteer": each result is blended alone. Leave it '
            "out; coordination.units.trust has results of the same unit compared."
        )
    if file.training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {TABLE}: the server's variate is the mean of "
            "all clients' changes, false ones included. Take training.proximal_mu instead."
        )
    if robust.groups is not None:
        yield from group_conflicts(file, robust.groups)
        return
    if file.privacy is not None:
        yield _privacy_conflict(file.privacy.mechanism)
    yield from _too_few_updates(file, robust)


def _privacy_conflict(mechanism: str) -> str:
    if mechanism in ("central", "distributed"):
        why = (
            "the noise is counted for a mean, which one client moves by its share of the clip at most; how "
            "far it moves a robust rule has no such bound"
        )
        if mechanism == "distributed":
            why += "; with security.robust.groups each group's sum has its noise before the rule sees it"
    else:
        why = "the noise in each update is longer than the differences that robust rules look at"
    return f'{TABLE} cannot be combined with privacy.mechanism = "{mechanism}": {why}. Leave out one of them.'


def _too_few_updates(file: TaskFile, robust: RobustTable) -> Iterator[str]:
    """Yields client counts with which a version could be made of more false updates than the rule bears."""
    rounds, least = file.coordination, robust.least
    for key, value in (
        ("min_available_clients", rounds.min_available_clients),
        ("min_train_clients", rounds.min_train_clients if rounds.fraction_train < 1.0 else least),
        ("quorum", rounds.quorum),
    ):
        if value < least:
            yield (
                f"coordination.{key} is {value}, but {robust.words} needs at least {least} updates to bear "
                f"attackers = {robust.attackers}: of {value} it bears {robust.most_attackers(value)}. Raise "
                f"coordination.{key} to {least}, or lower security.robust.attackers."
            )
