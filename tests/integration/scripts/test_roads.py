"""A road is what a real server runs through for a flow, from the socket on, without observers."""

from __future__ import annotations

import ast
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
from scripts.roads.launch import launch
from scripts.roads.serving import ROOT, Road

MACHINES = {"federated_round": Rounds, "masked_round": MaskedRound, "work_unit": Scheduler}
PAGE = (ROOT / "docs/contributing/roads.md").read_text("utf-8")
CHAPTERS = {
    name: set(re.findall(r"^\| `(.*?)`", text, re.M))
    for name, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
}
# Written when a timer says so, which may fall into a flow or not.
BACKGROUND = {"work_unit": CHAPTERS["A checkpoint of work units"]}
# Called when a timer says so: on a slow machine in the midst of the flow, too.
TIMED = {"backend/server/units/board/announcements.py:Announcer.board"}
TITLES = {"federated_round": "An update", "work_unit": "A work unit"}
DOCUMENTED = {
    "federated_round": CHAPTERS["A round"],
    "masked_round": CHAPTERS["A round"] | CHAPTERS["A masked round"],
    "work_unit": CHAPTERS["A work unit"],
}


ARCHITECTURE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8").partition("## Three roads")[2]
# By the words that their titles begin with. What runs in a process of its own is indented.
ROADS = {
    title: re.findall(r"^( *)(?:\d+\.|-) `([^`]+):([^`]+)`", text, re.M)
    for title, text in re.findall(
        r"^### (An update|A `.keras` file|A work unit)\b.*?\n(.*?)(?=^### |\Z)", ARCHITECTURE, re.M | re.S
    )
}
FUNCTIONS = sorted({(file, function) for road in ROADS.values() for _, file, function in road})


def file_of(thing: Callable[..., object]) -> str:
    return str(Path(inspect.getsourcefile(thing) or "").relative_to(ROOT))


def in_order(title: str, road: Road) -> list[str]:
    """Returns a road's documented functions. Raises AssertionError unless it calls them in that order."""
    listed = [f"{file}:{function}" for indent, file, function in ROADS[title] if not indent]
    assert [function for function in listed if function not in road.called] == []
    untimed = [function for function in listed if function not in TIMED]
    assert sorted(untimed, key=road.called.index) == untimed
    return listed


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
    if name in TITLES:
        assert in_order(TITLES[name], road)


@pytest.mark.long
@pytest.mark.tensorflow
async def test_a_model_becomes_a_task_by_the_documented_functions(tmp_path: Path) -> None:
    assert in_order("A `.keras` file", await launch(tmp_path))


@pytest.mark.parametrize(("file", "function"), FUNCTIONS)
def test_a_function_of_the_roads_exists(file: str, function: str) -> None:
    within: ast.AST = ast.parse((ROOT / file).read_text("utf-8"))
    for name in function.split("."):
        (within,) = (one for one in ast.iter_child_nodes(within) if getattr(one, "name", None) == name)


def test_a_road_is_what_all_its_runs_have_in_common() -> None:
    first = Road(
        run=["backend/stores/a.py", "backend/web/b.py", "backend/wire/c.py"],
        carry=["backend/wire/c.py"],
        called=["backend/wire/c.py:f", "backend/stores/a.py:f", "backend/web/b.py:f"],
    )
    second = Road(
        run=["backend/web/b.py", "backend/wire/c.py"],
        carry=["backend/web/b.py", "backend/wire/c.py"],
        called=["backend/web/b.py:f", "backend/wire/c.py:f"],
    )
    assert common([first, second]) == Road(
        run=["backend/web/b.py", "backend/wire/c.py"],
        carry=[],
        called=["backend/wire/c.py:f", "backend/web/b.py:f"],
    )
