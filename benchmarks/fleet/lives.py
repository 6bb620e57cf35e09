"""Life times of a fleet's machines: seeded draws from a distribution or a recorded trace, scaled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from backend.errors import SettingsError
from backend.simulation.population import AWAY_SECONDS
from backend.simulation.units.life_times import DrawLife, exponential_lives, read_trace, recorded_lives

HOUR = 3600.0
# Below 1: the risk is highest at the beginning of a life.
WEIBULL_SHAPE = 0.5


def weibull_lives(mean: float) -> DrawLife:
    """Returns lives of `mean` seconds on average, of which many are short and a few are long."""
    scale = mean / math.gamma(1.0 + 1.0 / WEIBULL_SHAPE)
    return lambda random: random.weibullvariate(scale, WEIBULL_SHAPE)


DISTRIBUTIONS: dict[str, Callable[[float], DrawLife]] = {
    "exponential": exponential_lives,
    "weibull": weibull_lives,
}


@dataclass(frozen=True)
class Life:
    """Seconds that a machine lives, and those after its end until another one takes its place."""

    seconds: float
    away: float


@dataclass(frozen=True)
class LifeTimes:
    """Where lives come from; an hour of theirs lasts `hour` seconds in the run."""

    name: str
    draw: DrawLife
    hour: float = HOUR

    @property
    def scale(self) -> float:
        """Returns the seconds of the run in one second of the trace."""
        return self.hour / HOUR

    def of_machine(self, seed: int, number: int) -> Iterator[Life]:
        """Yields the scaled lives of a machine and of those that replace it, always the same ones."""
        random = Random(f"{seed}/{number}")
        while True:
            seconds = self.draw(random)
            away = random.expovariate(1.0 / AWAY_SECONDS)
            yield Life(seconds * self.scale, away * self.scale)


def life_times(distribution: str, mean: float, trace: Path | None, hour: float) -> LifeTimes:
    """Returns lives of the trace, if there is one, or of the distribution. Raises SettingsError."""
    for flag, value in (("--hour", hour), ("--mean", mean)):
        if not 0.0 < value < math.inf:
            raise SettingsError(f"{flag} is {value:g}; give a number of seconds above 0.")
    if trace is not None:
        return LifeTimes(f"trace {trace.name}", recorded_lives(read_trace(trace)), hour)
    return LifeTimes(f"{distribution}, mean {mean:g} s", DISTRIBUTIONS[distribution](mean), hour)
