"""Gives the coefficients with which a linear assimilation mixes a result into the model.

A linear assimilation makes the weights after a result from the weights before it, from the version that the
client trained from, and from the client's update, which is its weights minus that version:

    after = (1 - pull) before + pull base + gain update

Each factory takes the settings of its namesake in asynchronous.py, except Adagrad's, which is not linear in
this sense. Neither are EASGD and DC-ASGD, and FedBuff defers a result's effect.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from backend.numerics.aggregation.staleness import DISCOUNTS


@dataclass(frozen=True)
class Mix:
    """The coefficients of one assimilation. `pull` is from 0 to 1, or ValueError is raised."""

    pull: float
    gain: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.pull <= 1.0:
            raise ValueError(f"The pull is {self.pull}; a share of the model is from 0 to 1.")


@dataclass(frozen=True)
class Arrival:
    """The values that a result's coefficients depend on.

    `staleness` and `epoch` are those of ClientResult; `count` is that of the memory before the result.
    """

    staleness: int = 0
    epoch: int = 1
    count: int = 0


Mixing: TypeAlias = Callable[[Arrival], Mix]


def vc_asgd(alpha: float | None = None) -> Mixing:
    """Returns the coefficients of `asynchronous.vc_asgd`."""

    def mix(arrival: Arrival) -> Mix:
        factor = 1.0 - (arrival.epoch / (arrival.epoch + 1.0) if alpha is None else alpha)
        return Mix(factor, factor)

    return mix


def downpour(learning_rate: float = 1.0) -> Mixing:
    """Returns the coefficients of `asynchronous.downpour`."""
    return lambda _arrival: Mix(0.0, learning_rate)


def fedasync(
    alpha: float = 0.6,
    discount: Literal["constant", "polynomial", "hinge"] = "polynomial",
    **settings: float,
) -> Mixing:
    """Returns the coefficients of `asynchronous.fedasync`."""
    discount_of = DISCOUNTS[discount](**settings)

    def mix(arrival: Arrival) -> Mix:
        factor = alpha * discount_of(arrival.staleness)
        return Mix(factor, factor)

    return mix


def warm_start(after: Mixing, results: int = 10) -> Mixing:
    """Returns the coefficients of `asynchronous.warm_start`: the first `results` replace the model."""

    def mix(arrival: Arrival) -> Mix:
        if arrival.count < results:
            return Mix(1.0, 1.0)
        return after(replace(arrival, count=arrival.count - results))

    return mix


MIXINGS: dict[str, Callable[..., Mixing]] = {
    "vc-asgd": vc_asgd,
    "downpour": downpour,
    "fedasync": fedasync,
}


def is_linear(name: str, settings: Collection[str]) -> bool:
    """Whether the assimilation `name` with these settings mixes results in linearly."""
    return name in MIXINGS and "adagrad" not in settings
