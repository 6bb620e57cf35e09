"""Checks that a task may keep single updates: the server sees them, and no promise about noise is broken."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.task_file import TaskFile

TABLE = "[security.kept_updates]"


def kept_updates_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with keeping updates, with an alternative."""
    if file.security.kept_updates is None:
        return
    if file.coordination.decentralized:
        yield (
            f'{TABLE} cannot be combined with scheme = "decentralized": no server sees updates. Leave it out.'
        )
    if file.coordination.volunteer:
        yield (
            f'{TABLE} cannot be combined with scheme = "volunteer": each result is blended alone, so that no '
            "rule compares results. Leave it out."
        )
    if file.training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {TABLE}: updates depend on variates, which "
            "another rule would have made different. Take training.proximal_mu instead."
        )
    if file.privacy is not None:
        yield _privacy_conflict(file.privacy.mechanism)


def _privacy_conflict(mechanism: str) -> str:
    if mechanism in ("central", "distributed"):
        why = (
            "epsilon counts what is published with noise, and results of another rule for kept updates "
            "would come without any"
        )
    else:
        why = "the noise in each update is longer than the differences that rules look at"
    return f'{TABLE} cannot be combined with privacy.mechanism = "{mechanism}": {why}. Leave out one of them.'
