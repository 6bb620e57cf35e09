"""A road is what a real server runs through for a flow, from the socket on, without observers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.protocols.rounds.base import Rounds
from backend.protocols.secagg.server import MaskedRound
from backend.protocols.units.scheduler import Scheduler
from backend.server.observers.event_log import Logbook
from backend.wire.codec import encode
from scripts.roads.flows import FLOWS
from scripts.roads.serving import ROOT

MACHINES = {"federated_round": Rounds, "masked_round": MaskedRound, "work_unit": Scheduler}


def file_of(thing: Callable[..., object]) -> str:
    return str(Path(inspect.getsourcefile(thing) or "").relative_to(ROOT))


@pytest.mark.parametrize("name", FLOWS)
async def test_a_road_leads_from_the_socket_through_its_machine_and_back(name: str, tmp_path: Path) -> None:
    files = await FLOWS[name](tmp_path)
    assert files == sorted(set(files))
    assert {file.split("/")[1] for file in files} >= {"web", "wire", "protocols", "stores"}
    assert {file_of(MACHINES[name]), file_of(encode)} <= set(files)
    assert file_of(Logbook) not in files
    assert (file_of(MaskedRound) in files) == (name == "masked_round")
