"""What each scheme of training brings to the web: the page where one takes part, and its own metrics."""

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
    """`training` is the template of the page where one takes part. `gauges` reads figures off the hosts of
    the scheme whenever Prometheus asks; None where all are those of every host."""

    training: str
    gauges: Callable[[Callable[[], Iterable[Any]]], Collector] | None = None


# By the name of the scheme, like backend/server/schemes.py.
WEB_SCHEMES = {
    ROUNDS.name: WebScheme("train/train.html"),
    MESH.name: WebScheme("train/mesh.html"),
    UNITS.name: WebScheme("train/units.html", UnitGauges),
}
