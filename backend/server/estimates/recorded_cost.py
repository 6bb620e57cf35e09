"""Dollars and kWh of a recorded training, by a table of prices."""

from __future__ import annotations

from dataclasses import dataclass

from backend.server.estimates.energy import working_energy
from backend.server.estimates.prices import Instance, Prices
from backend.server.estimates.training_record import TrainingRecord

_HOUR = 3600.0
_GB = 1e9


@dataclass(frozen=True)
class Fleet:
    """Dollars with one machine of this kind for each client, and a standard one for the server.

    `busy` were paid for the seconds of work alone, `rented` from each client's first work to its last.
    """

    instance: str
    server: float
    standard_busy: float
    standard_rented: float
    preemptible_busy: float
    preemptible_rented: float

    @property
    def saved(self) -> float:
        """The part that preemptible machines save of all, the server included."""
        whole = self.server + self.standard_rented
        return (self.standard_rented - self.preemptible_rented) / whole if whole else 0.0


@dataclass(frozen=True)
class Energy:
    """Of the clients' devices while they worked: kWh and dollars, the least and the most."""

    kwh: tuple[float, float]
    dollars: tuple[float, float]


@dataclass(frozen=True)
class Cost:
    """All of it; `traffic` are dollars for what would leave a provider: models, data and updates."""

    fleets: tuple[Fleet, ...]
    traffic: float
    energy: Energy


def cost_of(record: TrainingRecord, prices: Prices) -> Cost:
    """What the recorded training would have cost."""
    kwh = working_energy(record.busy)
    return Cost(
        fleets=tuple(_fleet(record, one) for one in prices.instances),
        traffic=(record.down + record.up) / _GB * prices.traffic.out,
        energy=Energy(kwh, (kwh[0] * prices.energy.kwh, kwh[1] * prices.energy.kwh)),
    )


def _fleet(record: TrainingRecord, instance: Instance) -> Fleet:
    busy, there = record.busy / _HOUR, record.there / _HOUR
    return Fleet(
        instance.name,
        record.seconds / _HOUR * instance.standard,
        busy * instance.standard,
        there * instance.standard,
        busy * instance.preemptible,
        there * instance.preemptible,
    )
