"""Where a task's rounds stand, and what may follow what."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

# A client whose connection broke may come back and deliver; nobody waits longer for it than this.
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
    FINISHED = "finished"


TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    Phase.WAITING: frozenset({Phase.GATHERING, Phase.TRAINING, Phase.FINISHED}),
    Phase.GATHERING: frozenset({Phase.WAITING, Phase.TRAINING, Phase.FINISHED}),
    Phase.TRAINING: frozenset({Phase.AGGREGATING, Phase.GATHERING, Phase.WAITING, Phase.FINISHED}),
    Phase.AGGREGATING: frozenset(
        {Phase.EVALUATING, Phase.WAITING, Phase.GATHERING, Phase.TRAINING, Phase.FINISHED}
    ),
    Phase.EVALUATING: frozenset({Phase.WAITING, Phase.TRAINING, Phase.FINISHED}),
    Phase.FINISHED: frozenset(),
}


def waits_until(until: float, lost: Iterable[float | None]) -> float:
    """When to stop waiting: at `until`, or earlier if all who are awaited lost their connection.

    `lost` says for each of them since when it is lost; None for one that is connected.
    """
    latest = 0.0
    for at in lost:
        if at is None:
            return until
        latest = max(latest, at)
    return min(until, latest + RETURN_SECONDS)
