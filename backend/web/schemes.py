"""Registers the web parts of each training scheme: its training page and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.registry import Collector

from backend.server.mesh.scheme import MESH
from backend.server.rounds.scheme import ROUNDS
from backend.server.units.scheme import UNITS
from backend.web.api.unit_metrics import UnitGauges

# Below webapp/templates: a folder of partials for each scheme, and for what several schemes share.
PARTIALS = "partials/schemes"


@dataclass(frozen=True)
class WebScheme:
    """The web parts of a scheme.

    `training` is the template of its training page. `folders` has its partials: a folder of its own, then
    those that it shares with other schemes. `gauges` reads metrics from the scheme's hosts when Prometheus
    asks; None for a scheme without extra metrics.
    """

    training: str
    folders: tuple[str, ...]
    gauges: Callable[[Callable[[], Iterable[Any]]], Collector] | None = None

    def partial(self, templates: Path, name: str) -> str:
        """Returns the template of the scheme's partial `name`, from the first of its folders that has one.

        A scheme may lack a partial: then the returned template does not exist.
        """
        candidates = [f"{PARTIALS}/{folder}/{name}.html" for folder in self.folders]
        return next(filter(lambda path: (templates / path).is_file(), candidates), candidates[0])


# By the scheme's name, as in backend/server/schemes.py.
WEB_SCHEMES = {
    ROUNDS.name: WebScheme("pages/train.html", ("federated", "rounds")),
    MESH.name: WebScheme("pages/mesh.html", ("decentralized", "rounds")),
    UNITS.name: WebScheme("pages/units.html", ("volunteer",), UnitGauges),
}
