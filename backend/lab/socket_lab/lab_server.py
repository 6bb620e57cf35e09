"""A server of the lab: the real application on a port of this machine, in the lab's event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from backend.lab.socket_lab.shared_engine import SharedEngine
from backend.peer.data.blob_cache import BlobCache
from backend.peer.session.server_address import ServerAddress
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.server.hosting.task_registry import TaskRegistry
from backend.settings import ServerLimits, Settings
from backend.web.app import build_app
from backend.web.transport.uvicorn_server import bind, serving

# All clients come from one address, and for each training again.
_LIMITS = ServerLimits(joins_per_minute=100_000, requests_per_minute=1_000_000)
_ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class LabServer:
    """A running server: its `registry` of tasks, and what its clients share."""

    address: ServerAddress
    registry: TaskRegistry
    blobs: BlobCache
    engine: SharedEngine


@asynccontextmanager
async def lab_server(folder: Path) -> AsyncIterator[LabServer]:
    """Runs a server without tasks, whose data and whose clients' cache lie in `folder`."""
    settings = Settings(data_dir=folder / "data", tasks=(), port=0, limits=_LIMITS)
    app = build_app(settings)
    with bind(settings.host, settings.port) as bound:
        async with (
            serving(app, bound) as url,
            httpx.AsyncClient(timeout=_ANSWER_SECONDS, trust_env=False) as client,
        ):
            blobs = BlobCache(client, url, folder / "blobs")
            engine = SharedEngine(TensorFlowEngine(blobs, "cpu"))
            try:
                yield LabServer(ServerAddress(url, None), app.state.tasks, blobs, engine)
            finally:
                await engine.shut_down()
