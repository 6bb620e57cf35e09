"""Where a task's rounds stand, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

# A client whose connection broke may come back and deliver: it is awaited so long where a task says no other.
RETURN_SECONDS = 5.0
# Between an abandoned round and the next, so that clients who fail at once do not spin the server.
RETRY_SECONDS = 2.0


class IllegalEventError(RuntimeError):
    """The host reported what cannot happen now; nothing changed."""


class Phase(StrEnum):
    """Where the task is."""

    WAITING = "waiting"
    GATHERING = "gathering"
    TRAINING = "training"
    AGGREGATING = "aggregating"
    EVALUATING = "evaluating"
    PAUSED = "paused"
    FINISHED = "finished"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    # To AGGREGATING without training: what peers made while the server was away is brought for the record.
    Phase.WAITING: frozenset(
        {Phase.GATHERING, Phase.TRAINING, Phase.AGGREGATING, Phase.PAUSED, Phase.FINISHED}
    ),
    Phase.GATHERING: frozenset(
        {Phase.WAITING, Phase.TRAINING, Phase.AGGREGATING, Phase.PAUSED, Phase.FINISHED}
    ),
    Phase.TRAINING: frozenset(
        {Phase.AGGREGATING, Phase.GATHERING, Phase.WAITING, Phase.PAUSED, Phase.FINISHED}
    ),
    Phase.AGGREGATING: frozenset(
        {
            Phase.AGGREGATING,
            Phase.EVALUATING,
            Phase.WAITING,
            Phase.GATHERING,
            Phase.TRAINING,
            Phase.PAUSED,
            Phase.FINISHED,
        }
    ),
    Phase.EVALUATING: frozenset(
        {Phase.WAITING, Phase.TRAINING, Phase.AGGREGATING, Phase.PAUSED, Phase.FINISHED}
    ),
    # To AGGREGATING, where the owner goes back to an earlier version.
    Phase.PAUSED: frozenset({Phase.WAITING, Phase.AGGREGATING, Phase.FINISHED}),
    # Only where the owner ended the task, and changes their mind.
    Phase.FINISHED: frozenset({Phase.WAITING}),
}


def waits_until(until: float, lost: Iterable[float | None], grace: float) -> float:
    """When to stop waiting: at `until`, or `grace` seconds after the last of all who are awaited was lost.

    `lost` says for each of them since when it is lost; None for one that is connected.
    """
    latest = 0.0
    for at in lost:
        if at is None:
            return until
        latest = max(latest, at)
    return min(until, latest + grace)
