"""Reads the table of prices, a TOML file."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from backend.errors import SettingsError

DEFAULT_PRICES = Path(__file__).with_name("prices.toml")
Dollars = Annotated[float, Meta(ge=0, le=1e6)]
Line = Annotated[str, Meta(min_length=1, max_length=300)]
Date = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d\Z")]


class Dated(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The date and the source of a price; not `looked_up`: nobody read it there on that day."""

    date: Date
    source: Line
    looked_up: bool = True

    def __post_init__(self) -> None:
        """Raises ValueError for a day that is in no calendar; msgspec tells where it stands."""
        date.fromisoformat(self.date)

    @property
    def day(self) -> str:
        """Returns the date, and whether the price was not looked up then."""
        return self.date if self.looked_up else f"{self.date}, not looked up"


class Instance(Dated, frozen=True, kw_only=True):
    """A rented machine: dollars per hour as a standard and as a preemptible instance."""

    name: Line
    provider: Line
    processors: Annotated[int, Meta(ge=1)]
    memory_gib: Annotated[float, Meta(gt=0)]
    standard: Dollars
    preemptible: Dollars


class TrafficPrice(Dated, frozen=True):
    """The price in dollars of each GB (10^9 bytes) that leaves a provider."""

    out: Dollars


class EnergyPrice(Dated, frozen=True):
    """The price of energy in dollars per kWh."""

    kwh: Dollars


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table of prices."""

    instances: Annotated[list[Instance], Meta(min_length=1, max_length=100)]
    traffic: TrafficPrice
    energy: EnergyPrice


def read_prices(path: Path = DEFAULT_PRICES) -> Prices:
    """Reads the table in the file at `path`. Raises SettingsError that says what is wrong."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return msgspec.convert(tables, Prices)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"The prices in {path} cannot be read ({error}).") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(
            f"{path} is no table of prices: {error}. Each price needs its `source` and the `date`, like "
            "2026-11-22, on which you looked it up there; see docs/how-to/say-what-a-training-cost.md."
        ) from error
