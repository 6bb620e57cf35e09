"""Pages of work units tell volunteers and owners whose results are compared, as the task has it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.tasks.tiny_task import write_units
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

TRUST: dict[str, dict[str, Any]] = {
    "newcomers": {"replicas": 2, "spot_checks": 0.0},
    "samples": {"replicas": 1, "spot_checks": 0.1},
    "none": {"replicas": 1, "spot_checks": 0.0},
}
SAID = {
    "en": {
        "newcomers": "newcomers’ results are compared with others’ results on the same examples",
        "samples": "Occasionally one is first compared with others’ results on the same examples",
        "none": "nobody repeats them for comparison",
    },
    "es": {
        "newcomers": "lo que envían los nuevos se compara",
        "samples": "De vez en cuando algo se compara antes",
        "none": "nadie repite los mismos ejemplos para comparar",
    },
}
TO_OWNERS = {
    "newcomers": "Newcomers’ units are also computed by others and compared",
    "samples": "Only spot checks and odd results are also computed by others",
    "none": "no unit is computed again to compare it",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One with a task of each way to compare."""
    folder = tmp_path_factory.mktemp("compared")
    for name, trust in TRUST.items():
        write_units(folder / "tasks" / name, trust=trust)
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.mark.parametrize("language", SAID)
@pytest.mark.parametrize("name", TRUST)
def test_volunteers_are_told(server: Server, name: str, language: str) -> None:
    page = Visitor(server.url).ask("GET", f"/tasks/{name}/train", Accept_Language=language)
    assert f'data-comparison="{name}"' in page
    assert [said for said in TRUST if SAID[language][said] in page] == [name]


def test_owners_are_told(server: Server) -> None:
    owner = operator(server)
    for name in TRUST:
        page = owner.ask("GET", f"/tasks/{name}/manage")
        assert [said for said in TRUST if TO_OWNERS[said] in page] == [name]
