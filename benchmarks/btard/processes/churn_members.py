"""The members of a mesh under churn: real peers and pages that fail on demand and come back."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from playwright.async_api import Browser, BrowserContext, CDPSession, Page

from backend.wire.client_id import client_id
from tests.support.programs.program_process import Preload, Process

Event = dict[str, Any]
# Takes an event of a member, on the event loop.
Sink = Callable[["ChurnMember", Event], None]

# Reports which weights the page holds after each round.
_RECORD = """() => {
  const root = document.querySelector("[data-train]");
  let last = "";
  const note = () => {
    const { holds, round } = root.dataset;
    if (holds && holds !== last) report(Number(round), holds);
    last = holds;
  };
  new MutationObserver(note).observe(root, { attributes: true });
}"""


class ChurnMember(Protocol):
    """A member by its place; `client` is its public id, empty before it is known."""

    place: int
    client: str
    faults: tuple[str, ...]

    async def fail(self, fault: str) -> None: ...
    async def recover(self, fault: str) -> None: ...
    async def end(self) -> None: ...


class ChurnPeer:
    """`minga peer join` with a home of its own in `folder`, run by failing_peer.py."""

    faults: tuple[str, ...] = ("kill", "stop")

    def __init__(self, place: int, folder: Path, url: str, transport: str, sink: Sink) -> None:
        self.place, self.client = place, ""
        self._sink = sink
        self._home = folder / f"home {place}"
        self._home.mkdir()
        self._file, self._log = self._home / "fault", folder / f"peer {place}.log"
        listening = ["--listen", "127.0.0.1:0"] if transport == "websocket" else []
        join = ["peer", "join", url, *listening, "--transport", transport, "--json", "--device", "cpu"]
        self._words = [str(self._file), *join, "--cache-dir", str(self._home / "cache")]
        self._loop = asyncio.get_running_loop()
        self._reader: threading.Thread
        self._process: Process

    async def start(self) -> None:
        """Starts the process, with the state that its home has."""
        await asyncio.to_thread(self._start)

    def _start(self) -> None:
        environment = {**os.environ, "HOME": str(self._home)}
        module = "tests.support.peer.failing_peer"
        self._process = Process(
            Preload.TENSORFLOW, module, *self._words, log=self._log, environment=environment
        )
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def _read(self, process: Process) -> None:
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                self._loop.call_soon_threadsafe(self._take, json.loads(line))
        if (code := process.wait(60.0)) != -signal.SIGKILL:
            self._loop.call_soon_threadsafe(self._take, {"event": "ended", "code": code})

    def _take(self, event: Event) -> None:
        if event["event"] == "standing":
            self.client = event["client"]
        self._sink(self, event)

    def arm(self, phase: str, fault: str) -> None:
        """Has it fail as soon as it enters a phase."""
        self._file.write_text(f"{phase} {fault}", "utf-8")

    def release(self) -> None:
        """Has it continue that held a round up."""
        self._file.write_text("on", "utf-8")

    async def fail(self, fault: str) -> None:
        """Does nothing: it has failed by itself."""
        del fault

    async def recover(self, fault: str) -> None:
        """Continues it, or starts it again."""
        if fault == "stop":
            self._process.send_signal(signal.SIGCONT)
        else:
            await asyncio.to_thread(self._reader.join)
            await self.start()

    async def end(self) -> None:
        """Kills it."""
        self._process.kill()
        await asyncio.to_thread(self._reader.join)


class ChurnPage:
    """A training page in a browser context of its own, which keeps its identity."""

    faults: tuple[str, ...] = ("close", "freeze")

    def __init__(self, place: int, browser: Browser, url: str, sink: Sink) -> None:
        self.place, self.client = place, ""
        self._browser, self._url, self._sink = browser, url, sink
        self._context: BrowserContext
        self._page: Page
        self._session: CDPSession

    async def start(self) -> None:
        """Opens the context and the page."""
        self._context = await self._browser.new_context()
        await self._context.expose_function("report", self._report)
        await self._open()

    async def _open(self) -> None:
        page = self._page = await self._context.new_page()
        page.on("console", lambda message: self._tell("console", message.type, message.text))
        page.on("pageerror", lambda error: self._tell("console", "pageerror", str(error)))
        await page.goto(f"{self._url}/tasks/digits/train?backend=wasm")
        await page.evaluate(_RECORD)
        self._session = await self._context.new_cdp_session(page)
        await page.locator("[data-action=start]").click()
        await page.wait_for_function("() => localStorage['minga-token']")
        self.client = client_id(await page.evaluate("localStorage['minga-token']"))

    def _report(self, number: int, weights: str) -> None:
        self._sink(self, {"event": "holds", "round": number, "weights": weights})

    def _tell(self, event: str, kind: str, text: str) -> None:
        self._sink(self, {"event": event, "kind": kind, "text": text})

    async def fail(self, fault: str) -> None:
        """Closes or freezes the page."""
        if fault == "close":
            await self._page.close()
        else:
            await self._session.send("Page.setWebLifecycleState", {"state": "frozen"})

    async def recover(self, fault: str) -> None:
        """Opens it again, or lets it continue."""
        if fault == "close":
            await self._open()
        else:
            await self._session.send("Page.setWebLifecycleState", {"state": "active"})

    async def end(self) -> None:
        """Closes the context."""
        await self._context.close()
