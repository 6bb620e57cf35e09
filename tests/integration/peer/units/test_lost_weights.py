"""A server that was away has lost the weights of units that were being fetched: that is no peer's fault."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest
from msgspec.structs import replace
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from backend.errors import ReplacedError
from backend.peer.data.blob_cache import BlobCache
from backend.peer.session.progress import JsonLines
from backend.peer.training.control_variates import Variates
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.units.options import UnitOptions
from backend.peer.units.session import MOST_FAILURES, UnitsSession
from backend.peer.units.shard_cache import ShardCache
from backend.peer.units.unit_trainer import UnitTrainer
from backend.wire.codec import encode
from backend.wire.messages import CHUNK_BYTES, Closing
from backend.wire.unit_messages import UNITS_PROTOCOL, Enlist, Enlisted, Release, Result, UnitsToServer, Want
from backend.wire.units_codec import decode_units
from tests.integration.peer.conftest import BlobServer
from tests.integration.peer.units.test_unit_trainer import Site
from tests.support.timeouts import PATIENCE

pytestmark = pytest.mark.tensorflow

# By lease, the addresses of weights.
LOST = {lease: f"{lease:064x}" for lease in range(1, MOST_FAILURES + 1)}


class Restarted:
    """A server of blobs and units on a real socket, which is started again between the two visits it gets."""

    def __init__(self, site: Site, blobs: dict[str, bytes]) -> None:
        self._site, self._blobs = site, blobs
        self._asked = asyncio.Semaphore(0)
        self._visits = 0
        self.is_back = False
        self.given_back: list[Release] = []
        self.done: Result | None = None

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """A blob; units are talked of on the same port."""
        name = request.path.removeprefix("/blobs/")
        if name == request.path:
            return None
        if name in LOST.values():
            self._asked.release()
            status = HTTPStatus.NOT_FOUND if self.is_back else HTTPStatus.SERVICE_UNAVAILABLE
            return connection.respond(status, "")
        content = self._blobs[name]
        return Response(200, "OK", Headers({"Content-Length": str(len(content))}), content)

    async def visited(self, connection: ServerConnection) -> None:
        """The first visit ends while units are fetched; in the second one a unit can be done."""
        await connection.recv()
        bundle = self._site.bundle
        enlisted = Enlisted(task="digits", client="a" * 16, bundle=bundle, chunk_bytes=CHUNK_BYTES)
        await connection.send(encode(enlisted))
        while not isinstance(await self._heard(connection), Want):
            pass
        self._visits += 1
        if self._visits == 1:
            for lease, address in LOST.items():
                await connection.send(encode(replace(self._site.unit(lease), weights=address)))
            for _ in LOST:
                await self._asked.acquire()
            return
        self.is_back = True
        while len(self.given_back) < len(LOST):
            said = await self._heard(connection)
            if isinstance(said, Release):
                self.given_back.append(said)
        await connection.send(encode(self._site.unit(100)))
        while not isinstance(said := await self._heard(connection), Result):
            pass
        self.done = said
        await connection.send(encode(Closing(code="replaced", reason="That is all.")))

    async def _heard(self, connection: ServerConnection) -> UnitsToServer:
        frame = await connection.recv()
        assert isinstance(frame, bytes)
        return decode_units(frame)


@asynccontextmanager
async def peer_of(server: Restarted, folder: Path) -> AsyncIterator[UnitsSession]:
    """A peer with as many units at once as it may fail at in a row."""
    protocols = [Subprotocol(UNITS_PROTOCOL)]
    listening = serve(
        server.visited,
        "127.0.0.1",
        0,
        process_request=server.answer,
        subprotocols=protocols,
        max_size=1 << 20,
    )
    async with listening as sockets, httpx.AsyncClient() as client:
        place = f"127.0.0.1:{sockets.sockets[0].getsockname()[1]}"
        blobs = BlobCache(client, f"http://{place}", folder / "cache")
        jobs = TrainingJobs(
            TensorFlowEngine(blobs, "cpu", MOST_FAILURES), blobs, Variates(folder / "variates")
        )
        address = f"ws://{place}/socket"
        enlist = Enlist(token="t" * 32, kind="peer", backend="tensorflow", agent="test", shards=[])
        shelf = ShardCache(folder / "shelves", address, folder / "cache")
        reporter = JsonLines(io.StringIO())
        options = UnitOptions(address, enlist, at_once=MOST_FAILURES)
        yield UnitsSession(options, jobs, UnitTrainer(blobs, jobs), shelf, reporter, lambda: 0.0)


async def test_units_whose_weights_the_server_lost_are_given_back_and_others_done(
    digits: Path, blob_server: BlobServer, tmp_path: Path
) -> None:
    server = Restarted(Site(digits, blob_server), blob_server.blobs)
    async with asyncio.timeout(PATIENCE), peer_of(server, tmp_path) as peer:
        with pytest.raises(ReplacedError, match="That is all"):
            await peer.run(asyncio.Event())
    assert sorted(one.lease for one in server.given_back) == list(LOST)
    assert {one.cause for one in server.given_back} == {"data"}
    assert server.done is not None
    assert server.done.lease == 100
