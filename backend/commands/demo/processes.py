"""Starts and stops the processes of the demo: a server, a peer, and headless volunteers."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from backend.commands.demo.child_process import Child
from backend.errors import DemoError
from backend.settings import assets_folder

TASK = "digits"
SERVER_SECONDS = 60.0
# A first start compiles shaders and imports TensorFlow, which is slow on some machines.
PARTICIPANT_SECONDS = 180.0
POLL_SECONDS = 0.5

Row = dict[str, Any]


class Ensemble:
    """A context manager that starts the demo's processes on a new data folder and stops them at its exit."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="minga-demo-", ignore_cleanup_errors=True)
        self._server: Child | None = None
        self._participants: list[Child] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*(child.stop() for child in self._participants))
        if self._server:
            await self._server.stop()
        self._folder.cleanup()

    async def start_server(self, host: str, port: int, *settings: str) -> str:
        """Builds the task if necessary, starts the server, and returns its local address."""
        await _build_if_missing()
        words = [
            "serve",
            "--json",
            "--host",
            host,
            "--port",
            str(port),
            "--data-dir",
            f"{self._folder.name}/data",
            "--tasks",
            *_built_tasks(),
        ]
        for setting in settings:
            words += ["--set", setting]
        self._server = await Child.start("The server", "backend", *words)
        report = await self._server.wait_for("listening", SERVER_SECONDS)
        if all(task["name"] != TASK for task in report["tasks"]):
            raise DemoError(f"The task {TASK} cannot be served: {'; '.join(report['problems'].values())}")
        return f"http://127.0.0.1:{urlsplit(report['url']).port}"

    async def start_peer(self, url: str) -> None:
        """Starts a TensorFlow peer and waits until it is ready."""
        words = ("peer", "join", url, "--task", TASK, "--json", "--cache-dir", f"{self._folder.name}/blobs")
        peer = await Child.start("The peer", "backend", *words)
        self._participants.append(peer)
        await peer.wait_for("ready", PARTICIPANT_SECONDS)

    async def start_volunteer(self, url: str, backend: str) -> None:
        """Starts a headless browser that trains on `backend`."""
        page = f"{url}/tasks/{TASK}/train?backend={backend}"
        volunteer = await Child.start(f"The browser with {backend}", "backend.commands.demo.volunteer", page)
        self._participants.append(volunteer)
        await volunteer.wait_for("started", PARTICIPANT_SECONDS)

    async def versions(self, url: str, patience: float | None) -> AsyncIterator[Row]:
        """Yields each evaluated version in order: `version`, `round`, `rounds`, `accepted`, `accuracy`.

        Raises DemoError if the server ends, a participant ends with an error, or no new version is evaluated
        within `patience` seconds (None: no limit).
        """
        last_version, changed_at = 0, time.monotonic()
        while True:
            rounds = (await self._get(f"{url}/api/tasks/{TASK}"))["rounds"]
            rows = (await self._get(f"{url}/api/tasks/{TASK}/versions"))["versions"]
            for row in sorted(rows, key=lambda row: int(row["version"])):
                if row["version"] <= last_version or row["evaluation"] is None:
                    continue
                last_version, changed_at = row["version"], time.monotonic()
                yield {**row, "rounds": rounds, "accuracy": row["evaluation"]["metrics"].get("accuracy")}
            self._check()
            if patience is not None and time.monotonic() - changed_at > patience:
                raise DemoError(f"No new version came within {patience:.0f} s after version {last_version}.")
            await asyncio.sleep(POLL_SECONDS)

    async def contributions(self, url: str) -> dict[str, int]:
        """Counts accepted updates by kind of participant, for example `{"browser-wasm": 3, "peer": 3}`."""
        answer = await self._get(f"{url}/api/tasks/{TASK}/contributions")
        credit: dict[str, int] = {}
        for row in answer["contributions"]:
            name = row["kind"] if row["kind"] == "peer" else f"{row['kind']}-{row['backend']}"
            credit[name] = credit.get(name, 0) + row["accepted"]
        return dict(sorted(credit.items()))

    def _check(self) -> None:
        """Raises DemoError if the server ended, or a participant ended with an error."""
        for child in self._participants:
            if child.code:
                raise DemoError(child.exit_message())
        if self._server and self._server.code is not None:
            raise DemoError(self._server.exit_message())

    async def _get(self, address: str) -> dict[str, Any]:
        try:
            return await asyncio.to_thread(_fetch, address)
        except (URLError, OSError, ValueError) as error:
            self._check()
            raise DemoError(f"The server does not answer: {error}.") from error


def _fetch(address: str) -> dict[str, Any]:
    with urlopen(address, timeout=10) as answer:  # noqa: S310 - our own server
        content: dict[str, Any] = json.load(answer)
        return content


def _built_tasks() -> list[str]:
    """Lists the folders of the gallery's built tasks; the others cannot be served."""
    return [str(path.parent) for path in sorted((assets_folder() / "models").glob("*/built"))]


async def _build_if_missing() -> None:
    folder = assets_folder() / "models" / TASK
    if (folder / "built" / "bundle" / "bundle.json").is_file():
        return
    build = await Child.start("The build", "backend", "build", str(folder))
    try:
        if await build.wait():
            raise DemoError(build.exit_message())
    finally:
        await build.stop()
