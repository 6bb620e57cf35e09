"""The curves of an attacked training, and what remains at its end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backend.lab.robustness.attacked_training import AttackedRoundOutcome

# The last tenth of the rounds counts: single rounds vary.
_LAST = 10


@dataclass(frozen=True)
class TrainingCurves:
    """The curves of one training, a value for each round; `backdoor` is empty without one.

    `refused` and `honest_ejections` count updates of all rounds, `abandoned` rounds; `reason` is that of the
    first abandoned one.
    """

    accuracy: list[float]
    backdoor: list[float]
    refused: int
    honest_ejections: int
    abandoned: int
    reason: str | None

    @property
    def final_accuracy(self) -> float:
        """The mean accuracy of the last tenth of the rounds."""
        return _last_mean(self.accuracy)

    @property
    def final_backdoor(self) -> float | None:
        """The mean success of the backdoor in the last tenth of the rounds; None without backdoor."""
        return _last_mean(self.backdoor) if self.backdoor else None


def curves_of(outcomes: Sequence[AttackedRoundOutcome]) -> TrainingCurves:
    """Returns the curves of a training's rounds, of which there is at least one."""
    reasons = [one.abandoned for one in outcomes if one.abandoned]
    return TrainingCurves(
        [round(one.accuracy, 4) for one in outcomes],
        [round(one.backdoor, 4) for one in outcomes if one.backdoor is not None],
        sum(one.refused for one in outcomes),
        sum(one.honest_ejections for one in outcomes),
        len(reasons),
        reasons[0] if reasons else None,
    )


def _last_mean(curve: Sequence[float]) -> float:
    last = curve[-max(1, len(curve) // _LAST) :]
    return sum(last) / len(last)
