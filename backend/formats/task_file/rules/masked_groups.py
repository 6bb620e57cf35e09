"""Checks that masked groups are large enough, and that a robust rule may compare their means."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.task_file import TaskFile

KEY = "security.robust.groups"


def group_conflicts(file: TaskFile, groups: int) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with `groups` masked groups, with an alternative."""
    if file.security.aggregation != ("masked",):
        yield (
            f'{KEY} needs security.aggregation = ["masked"]: single updates are compared without groups. '
            f"Leave {KEY} out, or mask all updates."
        )
        return
    if file.security.masked.share < 1.0:
        yield (
            f"security.masking.share cannot be combined with {KEY}: each group sends other parameters, and a "
            "rule compares the same ones of all. Leave it out, so that all are sent."
        )
    yield from _too_small(file, groups)


def _too_small(file: TaskFile, groups: int) -> Iterator[str]:
    """Yields client counts with which groups could not hide an update, or could not all be masked."""
    rounds, masking = file.coordination, file.security.masked
    needed = groups * masking.min_clients
    if needed > masking.most_clients:
        yield (
            f"{KEY} is {groups}, and {groups} groups of {masking.min_clients} clients "
            f"(security.masking.min_clients) are {needed}; a masked round has {masking.most_clients} at most "
            f'with server = "{masking.server}". Lower one of the two.'
        )
    for key, value in (
        ("min_available_clients", rounds.min_available_clients),
        ("min_train_clients", rounds.min_train_clients if rounds.fraction_train < 1.0 else needed),
    ):
        if value < needed:
            yield (
                f"coordination.{key} is {value}, so that {groups} groups ({KEY}) would have "
                f"{value // groups} clients, and updates are masked among at least {masking.min_clients} "
                f"(security.masking.min_clients). Raise it to {needed}, or lower one of these two."
            )
    robust = file.security.robust
    least = robust.least * masking.min_clients if robust is not None else needed
    if rounds.quorum < least:
        yield (
            f"coordination.quorum is {rounds.quorum}, and the rule needs the sums of groups of "
            f"{masking.min_clients} clients with {least} updates together. Raise it to {least}."
        )
