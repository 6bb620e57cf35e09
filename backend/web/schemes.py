"""Registers the web parts of each training scheme: its training page and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from prometheus_client.registry import Collector

from backend.server.mesh.scheme import MESH
from backend.server.rounds.scheme import ROUNDS
from backend.server.units.scheme import UNITS
from backend.web.api.unit_metrics import UnitGauges


@dataclass(frozen=True)
class WebScheme:
    """The web parts of a scheme.

    `training` is the template of its training page. `gauges` reads metrics from the scheme's hosts when
    Prometheus asks; None for a scheme without metrics of its own.
    """

    training: str
    gauges: Callable[[Callable[[], Iterable[Any]]], Collector] | None = None


# By the scheme's name, as in backend/server/schemes.py.
WEB_SCHEMES = {
    ROUNDS.name: WebScheme("train/train.html"),
    MESH.name: WebScheme("train/mesh.html"),
    UNITS.name: WebScheme("train/units.html", UnitGauges),
}
