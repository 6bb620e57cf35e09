"""Clients of a simulation on machines that are given, such as those of a paper, instead of drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from backend.errors import SettingsError
from backend.simulation.clients import DrawBehaviour, Traits
from backend.simulation.network import Pipe, SimulatedLine
from backend.simulation.population import MEGABIT, draw_behaviour


@dataclass(frozen=True)
class RentedMachine:
    """A rented machine: a training step takes one of its `cores` `step_seconds`; rates in Mbit/s."""

    step_seconds: float
    cores: int
    upload: float
    download: float
    latency: float


def clients_of(
    machines: Sequence[RentedMachine], churn: float, seed: int
) -> list[tuple[Traits, DrawBehaviour, Random]]:
    """Returns traits, behaviour and random generator of one Python peer on each machine.

    Raises SettingsError for a machine that cannot compute or transfer.
    """
    clients: list[tuple[Traits, DrawBehaviour, Random]] = []
    for number, machine in enumerate(machines):
        if machine.cores < 1 or min(machine.step_seconds, machine.upload, machine.download) <= 0.0:
            raise SettingsError("A machine has at least one core, and its times and rates are above 0.")
        random = Random(f"{seed}/{number}")
        line = SimulatedLine(
            Pipe(machine.upload * MEGABIT), Pipe(machine.download * MEGABIT), machine.latency
        )
        traits = Traits(
            token=f"simulated-{seed}-{number:012d}",
            device="laptop",
            kind="peer",
            backend="tensorflow-cpu",
            step_seconds=machine.step_seconds,
            line=line,
            cores=machine.cores,
        )
        clients.append((traits, partial(draw_behaviour, churn, random), random))
    return clients
