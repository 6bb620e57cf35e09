"""Checks that reputation sees single updates without noise."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.task_file import TaskFile

TABLE = "[security.reputation]"


def reputation_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with reputation, with an alternative."""
    if file.security.reputation is None:
        return
    if file.coordination.decentralized:
        yield (
            f'{TABLE} cannot be combined with scheme = "decentralized": no server sees updates. Leave it '
            'out; coordination.averaging.reducer = "trimmed_mean" bounds what one peer can do.'
        )
    if file.coordination.volunteer:
        yield (
            f'{TABLE} cannot be combined with scheme = "volunteer": there is no round in which results are '
            "compared. Leave it out; coordination.units.trust keeps trust in clients."
        )
    if file.training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {TABLE}: the server's variate would keep "
            "what clients in quarantine sent. Take training.proximal_mu instead."
        )
    if file.privacy is not None:
        yield (
            f"{TABLE} cannot be combined with [privacy]: the account counts each client's update with the "
            "same weight, and noise hides what reputation compares. Leave out one of them."
        )
