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


class RoundPhase(StrEnum):
    """Where the task is."""

    WAITING = "waiting"
    GATHERING = "gathering"
    TRAINING = "training"
    AGGREGATING = "aggregating"
    EVALUATING = "evaluating"
    PAUSED = "paused"
    FINISHED = "finished"


TRANSITIONS: dict[RoundPhase, frozenset[RoundPhase]] = {
    # To AGGREGATING without training: what peers made while the server was away is brought for the record.
    RoundPhase.WAITING: frozenset(
        {
            RoundPhase.GATHERING,
            RoundPhase.TRAINING,
            RoundPhase.AGGREGATING,
            RoundPhase.PAUSED,
            RoundPhase.FINISHED,
        }
    ),
    RoundPhase.GATHERING: frozenset(
        {
            RoundPhase.WAITING,
            RoundPhase.TRAINING,
            RoundPhase.AGGREGATING,
            RoundPhase.PAUSED,
            RoundPhase.FINISHED,
        }
    ),
    RoundPhase.TRAINING: frozenset(
        {
            RoundPhase.AGGREGATING,
            RoundPhase.GATHERING,
            RoundPhase.WAITING,
            RoundPhase.PAUSED,
            RoundPhase.FINISHED,
        }
    ),
    RoundPhase.AGGREGATING: frozenset(
        {
            RoundPhase.AGGREGATING,
            RoundPhase.EVALUATING,
            RoundPhase.WAITING,
            RoundPhase.GATHERING,
            RoundPhase.TRAINING,
            RoundPhase.PAUSED,
            RoundPhase.FINISHED,
        }
    ),
    RoundPhase.EVALUATING: frozenset(
        {
            RoundPhase.WAITING,
            RoundPhase.TRAINING,
            RoundPhase.AGGREGATING,
            RoundPhase.PAUSED,
            RoundPhase.FINISHED,
        }
    ),
    # To AGGREGATING, where the owner goes back to an earlier version.
    RoundPhase.PAUSED: frozenset({RoundPhase.WAITING, RoundPhase.AGGREGATING, RoundPhase.FINISHED}),
    # Only where the owner ended the task, and changes their mind.
    RoundPhase.FINISHED: frozenset({RoundPhase.WAITING}),
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
