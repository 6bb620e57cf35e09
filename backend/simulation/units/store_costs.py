"""The measured cost of an assimilation in each parameter store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

StoreName = Literal["memory", "redis", "postgresql"]

# The model of the measurements: 5 million float32, VC-ASGD, databases on the machine of the server.
MEASURED_PARAMETERS = 5_000_000
VALUE_BYTES = 4


@dataclass(frozen=True)
class StoreCost:
    """The cost of a parameter store, measured with a model of MEASURED_PARAMETERS.

    One parameter server made `results_per_second` with results always waiting, which includes passing the
    vectors to its process. `alone` is the time of one read, recipe and write in milliseconds, for the
    report. `loses_results`: servers overwrite one another's results; otherwise one waits for another.
    """

    results_per_second: float
    alone: float
    loses_results: bool

    def seconds(self, size: int) -> float:
        """Returns the seconds that a server takes for a result where it moves `size` bytes of parameters.

        In proportion to the bytes: nearly all of the time is moving them. Only one size was measured.
        """
        return size / (VALUE_BYTES * MEASURED_PARAMETERS) / self.results_per_second


# From docs/how-to/parameters-in-a-database.md (python -m benchmarks.units.parameter_store, two idle cores).
STORE_COSTS: dict[StoreName, StoreCost] = {
    "memory": StoreCost(146.0, alone=6.6, loses_results=False),
    "redis": StoreCost(16.0, alone=58.0, loses_results=True),
    "postgresql": StoreCost(13.0, alone=52.0, loses_results=False),
}
