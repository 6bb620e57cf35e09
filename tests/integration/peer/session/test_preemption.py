"""The notice that a machine is taken away, from real HTTP servers that speak as the providers' do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from backend.errors import UnreachableError
from backend.peer.session.preemption import Ec2, Gce, Provider, providers, watch
from backend.peer.session.progress import Value
from tests.support.environment.http_thread import serving
from tests.support.timeouts import PATIENCE

ACTION = json.dumps({"action": "terminate", "time": "2026-11-22T16:30:00Z"})


class Metadata:
    """What a machine's metadata service says; `taken` once its machine is about to be."""

    def __init__(self) -> None:
        self.taken = False
        # So many questions are answered by something else, that is there first.
        self.starts_after = 0
        self.token = "first"  # noqa: S105 - an example.
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    metadata: Metadata

    def do_PUT(self) -> None:
        self.metadata.asked.append(self.path)
        wanted = self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        self._answer(200 if wanted else 400, self.metadata.token)

    def do_GET(self) -> None:
        self.metadata.asked.append(self.path)
        if len(self.metadata.asked) <= self.metadata.starts_after:
            self._answer(503, "")
        elif self.path == "/latest/meta-data/spot/instance-action":
            if self.headers["X-aws-ec2-metadata-token"] != self.metadata.token:
                self._answer(401, "")
            else:
                self._answer(200 if self.metadata.taken else 404, ACTION)
        elif self.path == "/computeMetadata/v1/instance/preempted":
            if self.headers["Metadata-Flavor"] == "Google":
                self._answer(200, "TRUE" if self.metadata.taken else "FALSE", {"Metadata-Flavor": "Google"})
            else:
                self._answer(403, "")
        else:
            self._answer(404, "")

    def _answer(self, status: int, text: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(text))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Keeps the tests' output quiet."""


@contextmanager
def service() -> Iterator[tuple[Metadata, str]]:
    """A metadata service and its address, without http://."""
    metadata = Metadata()
    handler = type("Handler", (_Handler,), {"metadata": metadata})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as origin:
        yield metadata, origin.removeprefix("http://")


@pytest.fixture
def metadata() -> Iterator[tuple[Metadata, str]]:
    with service() as found:
        yield found


def provider(kind: type[Ec2] | type[Gce], place: str) -> Provider:
    return kind(f"http://{place}")


class Told:
    """What was told; `watched` once a provider's service was found."""

    def __init__(self) -> None:
        self.news: list[tuple[str, Value]] = []
        self.watched = asyncio.Event()

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        del sentence
        self.news.append((event, values["provider"]))
        self.watched.set()


@asynccontextmanager
async def watching(asked: list[Provider]) -> AsyncIterator[tuple[Told, asyncio.Event]]:
    """Looks at these very often; what is told, and what is set by a notice."""
    told, stop = Told(), asyncio.Event()
    task = asyncio.create_task(watch(asked, stop, told, poll_seconds=0.01, absent_poll_seconds=0.01))
    async with asyncio.timeout(PATIENCE):
        yield told, stop
    task.cancel()


@pytest.mark.parametrize("kind", [Ec2, Gce])
async def test_a_notice_stops_the_peer(kind: type[Ec2] | type[Gce], metadata: tuple[Metadata, str]) -> None:
    said, place = metadata
    asked = provider(kind, place)
    async with watching([asked]) as (told, stop):
        await told.watched.wait()
        assert not stop.is_set()
        said.taken = True
        await stop.wait()
        assert told.news == [("preemptible", asked.name), ("preempted", asked.name)]


async def test_one_token_serves_until_it_is_over(metadata: tuple[Metadata, str]) -> None:
    said, place = metadata
    ec2 = Ec2(f"http://{place}")
    async with httpx.AsyncClient() as client:
        assert [await ec2.is_preempted(client) for _ in range(3)] == [False] * 3
        assert said.asked.count("/latest/api/token") == 1
        said.token, said.taken = "second", True
        assert not await ec2.is_preempted(client)
        assert await ec2.is_preempted(client)
        assert said.asked.count("/latest/api/token") == 2


async def test_other_services_at_those_addresses_are_none(metadata: tuple[Metadata, str]) -> None:
    _, place = metadata
    async with httpx.AsyncClient() as client:
        with pytest.raises(UnreachableError, match="no metadata service of Amazon EC2"):
            await Ec2(f"http://{place}/elsewhere").is_preempted(client)
        with pytest.raises(UnreachableError, match="no metadata service of Google"):
            await Gce(f"http://{place}/elsewhere").is_preempted(client)


async def test_a_provider_that_is_away_does_not_hide_the_other(metadata: tuple[Metadata, str]) -> None:
    said, place = metadata
    said.taken = True
    async with watching([provider(Ec2, "127.0.0.1:9"), provider(Gce, place)]) as (told, stop):
        await stop.wait()
        assert told.news == [("preempted", "Google Compute Engine")]


async def test_a_service_that_starts_late_is_found(metadata: tuple[Metadata, str]) -> None:
    said, place = metadata
    said.starts_after = 3
    async with watching([provider(Gce, place)]) as (told, _):
        await told.watched.wait()
        assert len(said.asked) > 3
        assert told.news == [("preemptible", "Google Compute Engine")]


def test_addresses_come_from_the_environment_that_the_providers_programs_read() -> None:
    known = providers(
        {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://[fd00:ec2::254]/", "GCE_METADATA_HOST": "a:1"}
    )
    assert [one.root for one in known if isinstance(one, Ec2 | Gce)] == [
        "http://[fd00:ec2::254]",
        "http://a:1",
    ]
    usual = [one.root for one in providers({}) if isinstance(one, Ec2 | Gce)]
    assert usual == ["http://169.254.169.254", "http://metadata.google.internal"]
