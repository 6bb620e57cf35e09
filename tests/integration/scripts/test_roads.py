"""A road is what a real server runs through for a flow, from the socket on, without observers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.protocols.rounds.base import Rounds
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.units.scheduler import Scheduler
from backend.server.observers.event_log import EventLog
from backend.wire.codec import encode
from scripts.roads.command import common
from scripts.roads.flows import FLOWS
from scripts.roads.serving import ROOT, Road

MACHINES = {"federated_round": Rounds, "masked_round": MaskedRound, "work_unit": Scheduler}
PAGE = (ROOT / "docs/contributing/roads.md").read_text("utf-8")
CHAPTERS = {
    name: set(re.findall(r"^\| `(.*?)`", text, re.M))
    for name, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
}
# Written when a timer says so, which may fall into a flow or not.
BACKGROUND = {"work_unit": CHAPTERS["A checkpoint of work units"]}
DOCUMENTED = {
    "federated_round": CHAPTERS["A round"],
    "masked_round": CHAPTERS["A round"] | CHAPTERS["A masked round"],
    "work_unit": CHAPTERS["A work unit"],
}


def file_of(thing: Callable[..., object]) -> str:
    return str(Path(inspect.getsourcefile(thing) or "").relative_to(ROOT))


@pytest.mark.parametrize("name", FLOWS)
async def test_a_road_leads_from_the_socket_through_its_machine_and_back(name: str, tmp_path: Path) -> None:
    road = await FLOWS[name](tmp_path)
    assert road.run == sorted(set(road.run))
    assert set(road.carry) <= set(road.run)
    assert {file.split("/")[1] for file in road.run} >= {"web", "wire", "protocols", "stores"}
    assert {file_of(MACHINES[name]), file_of(encode)} <= set(road.run)
    assert file_of(EventLog) not in road.run
    assert (file_of(MaskedRound) in road.run) == (name == "masked_round")
    crossed = {file.removeprefix("backend/") for file in common([road]).carry}
    assert crossed - BACKGROUND.get(name, set()) == DOCUMENTED[name]


def test_a_road_is_what_all_its_runs_have_in_common() -> None:
    first = Road(
        run=["backend/stores/a.py", "backend/web/b.py", "backend/wire/c.py"], carry=["backend/wire/c.py"]
    )
    second = Road(
        run=["backend/web/b.py", "backend/wire/c.py"], carry=["backend/web/b.py", "backend/wire/c.py"]
    )
    assert common([first, second]) == Road(run=["backend/web/b.py", "backend/wire/c.py"], carry=[])
