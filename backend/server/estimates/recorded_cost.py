"""Computes the dollars and kWh of a recorded training by a table of prices."""

from __future__ import annotations

from dataclasses import dataclass

from backend.server.estimates.energy import working_energy
from backend.server.estimates.prices import Instance, Prices
from backend.server.estimates.training_record import TrainingRecord

_HOUR = 3600.0
_GB = 1e9


@dataclass(frozen=True)
class Fleet:
    """Dollars for one machine of this kind per client, and a standard one for the server.

    `busy` pays only the seconds of work, `rented` the time from each client's first work to its last.
    """

    instance: str
    server: float
    standard_busy: float
    standard_rented: float
    preemptible_busy: float
    preemptible_rented: float

    @property
    def saved(self) -> float:
        """Returns the share of the total, server included, that preemptible machines save."""
        total = self.server + self.standard_rented
        return (self.standard_rented - self.preemptible_rented) / total if total else 0.0


@dataclass(frozen=True)
class Energy:
    """Minimum and maximum kWh and dollars of the clients' devices while they worked."""

    kwh: tuple[float, float]
    dollars: tuple[float, float]


@dataclass(frozen=True)
class Cost:
    """The whole cost; `traffic` are dollars for the models, data and updates that would leave a provider."""

    fleets: tuple[Fleet, ...]
    traffic: float
    energy: Energy


def cost_of(record: TrainingRecord, prices: Prices) -> Cost:
    """Returns what the recorded training would have cost."""
    kwh = working_energy(record.busy)
    return Cost(
        fleets=tuple(_fleet(record, instance) for instance in prices.instances),
        traffic=(record.down + record.up) / _GB * prices.traffic.out,
        energy=Energy(kwh, (kwh[0] * prices.energy.kwh, kwh[1] * prices.energy.kwh)),
    )


def _fleet(record: TrainingRecord, instance: Instance) -> Fleet:
    busy, rented = record.busy / _HOUR, record.there / _HOUR
    return Fleet(
        instance.name,
        record.seconds / _HOUR * instance.standard,
        busy * instance.standard,
        rented * instance.standard,
        busy * instance.preemptible,
        rented * instance.preemptible,
    )
