"""The training pace: computes how long a client may train so that its update arrives in time.

`training-pace.ts` is the twin; tests/contract/vectors/pace.json binds both. No clock is read here: times are
arguments.
"""

from __future__ import annotations

from dataclasses import dataclass

# The assumed rate before the first upload, in bytes a second: a slow home uplink (4 Mbit/s).
CAREFUL_RATE = 500_000.0
# The assumed upload takes at most this share of the round.
LARGEST_GUESS = 1 / 3
# The factor by which an upload may be slower than the ones before it.
SLOWER = 1.5
# The share that stays free for what is not measured: latency and the server's checks.
MARGIN = 0.1
LONGEST_MARGIN = 3.0


@dataclass(frozen=True)
class Pace:
    """The measured rate of earlier uploads in bytes a second, None before the first."""

    rate: float | None = None

    def uploaded(self, size: int, seconds: float) -> Pace:
        """Returns the pace after an upload of `size` bytes took `seconds`; the latest upload counts half."""
        rate = size / max(seconds, 1e-3)
        return Pace(rate if self.rate is None else 0.5 * (self.rate + rate))

    def training_seconds(self, seconds: float, size: int) -> float:
        """Returns the share of `seconds` for training if an update of `size` bytes is to arrive in them."""
        if self.rate is None:
            upload = min(size / CAREFUL_RATE, LARGEST_GUESS * seconds)
        else:
            upload = SLOWER * size / self.rate
        return max(0.0, seconds - upload - min(MARGIN * seconds, LONGEST_MARGIN))


@dataclass
class Stride:
    """Measures the steps of one training, to expect the longer of the last and the mean time."""

    steps: int = 0
    spent: float = 0.0
    last: float = 0.0

    def stepped(self, seconds: float, steps: int = 1) -> None:
        """Records `steps` more steps, which took `seconds` together."""
        self.steps += steps
        self.spent += seconds
        self.last = seconds / steps

    @property
    def step_seconds(self) -> float:
        """The expected seconds of the next step; 0 before the first, which is always done."""
        return max(self.last, self.spent / self.steps) if self.steps else 0.0
