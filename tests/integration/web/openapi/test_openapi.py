"""The API's description, and a server that keeps to it whatever it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from backend.settings import read_settings
from backend.web.app import build_app
from backend.web.openapi.document import TABLE, documented, openapi
from backend.web.openapi.page import refusals, sections
from tests.integration.web.openapi.explore_api import explore, explored_server
from tests.support.timeouts import PATIENCE
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    app = build_app(read_settings({"data_dir": tmp_path_factory.mktemp("nothing")}, {}))
    assert {operation for operation, _ in documented(app.routes)} == set(TABLE), (
        "Each address of the API has its row in backend/web/openapi/of_*.py, and each row its address."
    )
    return openapi(app.routes, "1")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with explored_server(tmp_path_factory.mktemp("explored")) as server:
        yield server


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            yield f"{method.upper()} {path}", told


def test_every_operation_says_what_it_does_and_has_a_name_of_its_own(document: dict[str, Any]) -> None:
    found = dict(operations(document))
    assert [name for name, told in found.items() if not re.search(r"[.:]", told["summary"])] == []
    ids = [told["operationId"] for told in found.values()]
    assert len(set(ids)) == len(ids) == len(TABLE)


def test_every_reference_and_parameter_leads_somewhere(document: dict[str, Any]) -> None:
    references = re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) == set(document["components"]["schemas"])
    for name, told in operations(document):
        inside = {one["name"] for one in told["parameters"] if one["in"] == "path"}
        assert inside == set(re.findall(r"\{(\w+)\}", name)), name


def test_a_body_is_told_by_the_type_that_decodes_it(document: dict[str, Any]) -> None:
    body = document["components"]["schemas"]["NewToken"]
    assert (set(body["required"]), body["additionalProperties"]) == ({"name", "scopes"}, False)
    assert body["properties"]["name"]["maxLength"] == 64
    # Other languages do not know Python's sign for the end of a text.
    assert "\\\\Z" not in json.dumps(document)


def test_the_page_shows_every_operation_with_its_fields(document: dict[str, Any]) -> None:
    shown = [one for part in sections(document).values() for one in part]
    assert {f"{one.method} {one.path}" for one in shown} == set(TABLE)
    (token,) = (one for one in shown if one.path == "/api/account/tokens")
    days = next(value for value in token.takes if value.name == "days")
    assert (days.place, days.required, days.type) == ("body", False, "integer, from 1, to 3650, or null")
    assert {reply.status for reply in token.refused} == {400, 401, 403, 413}
    assert refusals([token])[1:3] == [(401, "Unauthorized"), (403, "Forbidden")]


def test_a_server_tells_its_own_api(server: Server) -> None:
    assert server.get("/api/openapi.json")["openapi"] == "3.1.0"
    with urlopen(f"{server.url}/api/docs", timeout=PATIENCE) as answer:
        page = answer.read().decode()
    assert all(name.partition(" ")[2] in page for name in TABLE)


@pytest.mark.parametrize("digits", [18, 19, 400, 5000])
def test_a_number_of_any_length_in_an_address_is_no_fault_of_the_server(server: Server, digits: int) -> None:
    assert Drafter(Visitor(server.url)).send("GET", f"/api/tasks/tiny/versions/{'9' * digits}").status == 404


@pytest.mark.long
def test_whatever_is_sent_the_server_answers_as_it_says(server: Server, tmp_path: Path) -> None:
    for run in explore(server, tmp_path, cases=2):
        assert run.returncode == 0, run.stdout.partition("\n====")[2][:6000] + run.stderr
        # Refusals alone would show little.
        assert " passed" in run.stdout, run.stdout
