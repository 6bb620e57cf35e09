"""How long a client may train so that its update arrives in time.

`training-pace.ts` is the twin; tests/contract/vectors/pace.json binds both. No clock is read here: times are
arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

# What a home's uplink carries at least (4 Mbit/s), until an upload was measured, in bytes a second.
CAREFUL_RATE = 500_000.0
# A guess must not take more of the round than this.
LARGEST_GUESS = 1 / 3
# An upload may take so much longer than the ones before it.
SLOWER = 1.5
# Kept free for what nobody measures: the way there, the server's checks.
MARGIN = 0.1
LONGEST_MARGIN = 3.0


@dataclass(frozen=True)
class Pace:
    """The measured rate of earlier uploads in bytes a second, None before the first."""

    rate: float | None = None

    def uploaded(self, size: int, seconds: float) -> Pace:
        """After `size` bytes took `seconds` from the first credit to the answer; the latest counts half."""
        rate = size / max(seconds, 1e-3)
        return Pace(rate if self.rate is None else 0.5 * (self.rate + rate))

    def training_seconds(self, seconds: float, size: int) -> float:
        """What is left of `seconds` for training if an update of `size` bytes is to arrive in them."""
        if self.rate is None:
            upload = min(size / CAREFUL_RATE, LARGEST_GUESS * seconds)
        else:
            upload = SLOWER * size / self.rate
        return max(0.0, seconds - upload - min(MARGIN * seconds, LONGEST_MARGIN))


@dataclass
class Stride:
    """Watches the steps of one training: the next takes as long as the last or the mean, what is longer."""

    steps: int = 0
    spent: float = 0.0
    last: float = 0.0

    def stepped(self, seconds: float, steps: int = 1) -> None:
        """`steps` more steps took `seconds` together."""
        self.steps += steps
        self.spent += seconds
        self.last = seconds / steps

    @property
    def step_seconds(self) -> float:
        """What the next step will take; 0 before the first, which is always done."""
        return max(self.last, self.spent / self.steps) if self.steps else 0.0
