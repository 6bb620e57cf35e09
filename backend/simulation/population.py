"""Who takes part: devices, lines and habits, drawn with a seed from ranges that are measured or estimated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from random import Random

from backend.errors import SettingsError
from backend.formats.task_file.data import VolunteerData
from backend.server.estimates.devices import DeviceName
from backend.server.tasks.model_inspection import StepTime, fastest
from backend.simulation.client_work import Exit, Turn
from backend.simulation.clients import Fate, Traits
from backend.simulation.network import Pipe, SimulatedLine

MEGABIT = 125_000.0
# Rates and latencies of lines differ like this (standard deviation of their logarithm) around the median.
RATE_SPREAD, LATENCY_SPREAD, LATENCY = 0.8, 0.6, 0.03
# So do the numbers of examples that people bring.
EXAMPLES_SPREAD = 0.7
# One device is not always equally busy.
SPEED_SPREAD = 0.25
# Of those who drop out, so many lose their program and so many only their connection; the others say goodbye.
CRASHES, LOSSES = 0.5, 0.3
# They come back after this long, in the mean.
AWAY_SECONDS = 120.0
# A line that went dead is noticed when a ping is not answered.
UNNOTICED_SECONDS = 40.0


@dataclass(frozen=True)
class SimulatedPopulation:
    """`clients` of them in the shares of `devices`, lines of so many Mbit/s in the median.

    `churn` is the share of the plans whose client drops out at some moment while it works on them. Where
    volunteers bring data of their own, it is `examples` in the median.
    """

    clients: int
    churn: float
    devices: Mapping[DeviceName, float]
    upload: float
    download: float
    examples: int


def people(
    population: SimulatedPopulation, times: list[StepTime], own: VolunteerData | None, seed: int
) -> list[tuple[Traits, Fate, Random]]:
    """Traits, fate and chance of each client. `times` say how long a step takes on each device, `own` what
    data of their own must be like, if they bring any.

    Raises SettingsError when no device of the population can train the model.
    """
    ranges = {
        device: best
        for device, best in fastest(times).items()
        if population.devices.get(device, 0.0) > 0 and best.range_ms is not None
    }
    if not ranges:
        raise SettingsError(
            f"No {' or '.join(population.devices)} can train this model; `minga inspect` says why. "
            "Choose others with --devices."
        )
    return [
        _person(population, ranges, own, Random(f"{seed}/{number}"), seed, number)
        for number in range(population.clients)
    ]


def _person(
    population: SimulatedPopulation,
    ranges: Mapping[DeviceName, StepTime],
    own: VolunteerData | None,
    random: Random,
    seed: int,
    number: int,
) -> tuple[Traits, Fate, Random]:
    (device,) = random.choices(list(ranges), [population.devices[name] for name in ranges])
    best = ranges[device]
    assert best.range_ms is not None  # noqa: S101 - the others were left out.
    low, high = (math.log(end) for end in best.range_ms)
    line = SimulatedLine(
        up=Pipe(population.upload * MEGABIT * random.lognormvariate(0.0, RATE_SPREAD)),
        down=Pipe(population.download * MEGABIT * random.lognormvariate(0.0, RATE_SPREAD)),
        latency=LATENCY * random.lognormvariate(0.0, LATENCY_SPREAD),
    )
    traits = Traits(
        token=f"simulated-{seed}-{number:012d}",
        device=device,
        kind="peer" if best.backend.startswith("tensorflow") else "browser",
        backend=best.backend,
        step_seconds=math.exp(random.uniform(low, high)) / 1000,
        line=line,
        examples=_examples(population.examples, own, random),
    )
    return traits, partial(_turn, population.churn, random), random


def _examples(median: int, own: VolunteerData | None, random: Random) -> tuple[int, int]:
    """What a client brings, for training and held out."""
    if own is None:
        return 0, 0
    brought = round(median * random.lognormvariate(0.0, EXAMPLES_SPREAD))
    brought = min(own.maximum, max(own.minimum, brought))
    held_out = max(1, math.floor(brought * own.holdout)) if own.holdout > 0 and brought > 1 else 0
    return brought - held_out, held_out


def _turn(churn: float, random: Random, busy: float) -> Turn:
    """What befalls a client that is `busy` for so many seconds with a plan."""
    slowness = random.lognormvariate(0.0, SPEED_SPREAD)
    if random.random() >= churn:
        return Turn(slowness=slowness)
    way = random.random()
    exit_way: Exit = "crash" if way < CRASHES else "loss" if way < CRASHES + LOSSES else "leave"
    return Turn(
        exit=exit_way,
        after=random.uniform(0.0, busy * slowness),
        away=random.expovariate(1 / AWAY_SECONDS),
        unnoticed=random.uniform(0.0, UNNOTICED_SECONDS) if exit_way == "loss" else 0.0,
        slowness=slowness,
    )
