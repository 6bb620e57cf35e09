"""Azure's notice that a machine is evicted, from a real HTTP server that answers as documented."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from backend.errors import UnreachableError
from backend.peer.session.azure import Azure
from backend.peer.session.preemption import providers
from tests.integration.peer.session.test_preemption import watching
from tests.support.environment.http_thread import serving

MACHINE = "Volunteers_3"


def event(kind: str = "Preempt", status: str = "Scheduled", *machines: str) -> dict[str, Any]:
    """An event as the service tells it; `NotBefore` is empty once the event has started."""
    return {
        "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
        "EventStatus": status,
        "EventType": kind,
        "ResourceType": "VirtualMachine",
        "Resources": list(machines or [MACHINE]),
        "NotBefore": "" if status == "Started" else "Mon, 23 Nov 2026 16:30:10 GMT",
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }


class _Handler(BaseHTTPRequestHandler):
    events: list[Any]
    answers: dict[str, str]

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        told = {"DocumentIncarnation": len(self.events), "Events": self.events}
        found = {
            "/metadata/scheduledevents": json.dumps(told),
            "/metadata/instance/compute/name": MACHINE,
            **self.answers,
        }.get(path)
        # Without this header, or a version, the service refuses.
        asked_well = self.headers["Metadata"] == "true" and "api-version=" in query
        body = (found or "").encode()
        self.send_response(400 if not asked_well else 404 if found is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keeps the tests' output quiet."""


@pytest.fixture
def service() -> Iterator[tuple[type[_Handler], str]]:
    """The service, whose events a test changes, and its address."""
    handler = type("AzureHandler", (_Handler,), {"events": [], "answers": {}})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as origin:
        yield handler, origin


async def test_a_notice_of_azure_stops_the_peer(service: tuple[type[_Handler], str]) -> None:
    handler, root = service
    async with watching([Azure(root)]) as (told, stop):
        await told.watched.wait()
        assert not stop.is_set()
        handler.events.append(event())
        await stop.wait()
        assert told.news == [("preemptible", "Microsoft Azure"), ("preempted", "Microsoft Azure")]


@pytest.mark.parametrize(
    ("told", "ends"),
    [
        (event(), True),
        (event("Preempt", "Started"), True),
        (event("Terminate"), True),
        (event("Preempt", "Scheduled", "Volunteers_1", "volunteers_3"), True),
        (event("Preempt", "Scheduled", "Volunteers_1"), False),
        (event("Freeze"), False),
        (event("Reboot"), False),
        ({"EventType": "Preempt", "Resources": None}, False),
        ("no event", False),
    ],
)
async def test_only_events_that_end_this_machine_are_notices(
    service: tuple[type[_Handler], str], told: Any, ends: bool
) -> None:
    handler, root = service
    handler.events.append(told)
    async with httpx.AsyncClient() as client:
        assert await Azure(root).is_preempted(client) is ends


@pytest.mark.parametrize("events", ["[]", "no JSON", '{"Events": 1}', "{}"])
async def test_what_answers_otherwise_is_not_azure(service: tuple[type[_Handler], str], events: str) -> None:
    handler, root = service
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnreachableError, match="no metadata service of Microsoft Azure"):
            await Azure(f"{root}/elsewhere").is_preempted(client)
        handler.answers = {"/metadata/scheduledevents": events}
        with pytest.raises(UnreachableError, match="no metadata service of Microsoft Azure"):
            await Azure(root).is_preempted(client)
        handler.answers = {"/metadata/instance/compute/name": " "}
        with pytest.raises(UnreachableError, match="no metadata service of Microsoft Azure"):
            await Azure(root).is_preempted(client)


def test_azures_address_comes_from_the_environment() -> None:
    (usual,) = [one for one in providers({}) if isinstance(one, Azure)]
    (other,) = [one for one in providers({"AZURE_IMDS_ENDPOINT": "http://a:1/"}) if isinstance(one, Azure)]
    assert (usual.root, other.root) == ("http://169.254.169.254", "http://a:1")
