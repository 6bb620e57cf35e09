"""Draws simulated clients: devices, lines and drop-outs, from measured or estimated distributions."""

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
from backend.simulation.client_work import ClientBehaviour, Exit
from backend.simulation.clients import DrawBehaviour, Traits
from backend.simulation.network import Pipe, SimulatedLine

MEGABIT = 125_000.0
# Standard deviations of the logarithm of a line's rate and latency; the median latency in seconds.
RATE_SPREAD, LATENCY_SPREAD, LATENCY = 0.8, 0.6, 0.03
# The same for the number of examples that a client brings.
EXAMPLES_SPREAD = 0.7
# The same for the speed of one device, which varies with its load.
SPEED_SPREAD = 0.25
# Shares of drop-outs whose program crashes and who only lose their connection; the others leave in order.
CRASHES, LOSSES = 0.5, 0.3
# Mean time until a client returns after it dropped out.
AWAY_SECONDS = 120.0
# Maximum time until the server notices a dead connection by an unanswered ping.
UNNOTICED_SECONDS = 40.0


@dataclass(frozen=True)
class SimulatedPopulation:
    """Parameters of a population: `clients` with devices in the shares of `devices`.

    `upload` and `download` are median line rates in Mbit/s. `churn` is the share of plans whose client drops
    out while working on them. `examples` is the median number of examples if volunteers bring their own data.
    """

    clients: int
    churn: float
    devices: Mapping[DeviceName, float]
    upload: float
    download: float
    examples: int


def draw_clients(
    population: SimulatedPopulation, times: list[StepTime], own: VolunteerData | None, seed: int
) -> list[tuple[Traits, DrawBehaviour, Random]]:
    """Draws traits, behaviour and random generator of each client.

    `times` are the step times of each device; `own` limits the clients' own data, if they bring any. Raises
    SettingsError if no device of the population can train the model.
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
        _draw_client(population, ranges, own, Random(f"{seed}/{number}"), seed, number)
        for number in range(population.clients)
    ]


def _draw_client(
    population: SimulatedPopulation,
    ranges: Mapping[DeviceName, StepTime],
    own: VolunteerData | None,
    random: Random,
    seed: int,
    number: int,
) -> tuple[Traits, DrawBehaviour, Random]:
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
    return traits, partial(draw_behaviour, population.churn, random), random


def _examples(median: int, own: VolunteerData | None, random: Random) -> tuple[int, int]:
    """Draws the number of a client's own examples, for training and held out."""
    if own is None:
        return 0, 0
    brought = round(median * random.lognormvariate(0.0, EXAMPLES_SPREAD))
    brought = min(own.maximum, max(own.minimum, brought))
    held_out = max(1, math.floor(brought * own.holdout)) if own.holdout > 0 and brought > 1 else 0
    return brought - held_out, held_out


def draw_behaviour(churn: float, random: Random, busy: float) -> ClientBehaviour:
    """Draws the behaviour of a client during a plan that takes `busy` seconds."""
    slowness = random.lognormvariate(0.0, SPEED_SPREAD)
    if random.random() >= churn:
        return ClientBehaviour(slowness=slowness)
    exit_draw = random.random()
    exit_way: Exit = "crash" if exit_draw < CRASHES else "loss" if exit_draw < CRASHES + LOSSES else "leave"
    return ClientBehaviour(
        exit=exit_way,
        after=random.uniform(0.0, busy * slowness),
        away=random.expovariate(1 / AWAY_SECONDS),
        unnoticed=random.uniform(0.0, UNNOTICED_SECONDS) if exit_way == "loss" else 0.0,
        slowness=slowness,
    )
