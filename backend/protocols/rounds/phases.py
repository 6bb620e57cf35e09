"""The phases of a task's rounds, and the transitions between them."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

# The default time in which a client whose connection broke may come back and deliver.
RETURN_SECONDS = 5.0
# The pause after an abandoned round, so that clients that fail immediately do not keep the server busy.
RETRY_SECONDS = 2.0


class IllegalEventError(RuntimeError):
    """Raised when an event cannot happen in the current phase; nothing changed."""


class RoundPhase(StrEnum):
    """The phase of a task."""

    WAITING = "waiting"
    GATHERING = "gathering"
    TRAINING = "training"
    AGGREGATING = "aggregating"
    EVALUATING = "evaluating"
    PAUSED = "paused"
    FINISHED = "finished"


TRANSITIONS: dict[RoundPhase, frozenset[RoundPhase]] = {
    # To AGGREGATING without training: peers deposit a version that they made while the server was away.
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
    """Returns when to stop waiting: at `until`, or `grace` seconds after the last awaited client was lost.

    `lost` has for each awaited client the time when its connection was lost; None while it is connected.
    """
    latest = 0.0
    for at in lost:
        if at is None:
            return until
        latest = max(latest, at)
    return min(until, latest + grace)
