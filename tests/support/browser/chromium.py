"""Headless Chromium for tests, on its own thread so that it works beside any other event loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

from playwright.async_api import Browser, Page, Playwright, async_playwright

from tests.support.environment.preflight import CHROMIUM, find_program
from tests.support.plugins.requirements import require
from tests.support.timeouts import LONG, PATIENCE

T = TypeVar("T")

FLAGS = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    # WebGL 2 and WebGPU without a graphics card.
    "--enable-unsafe-swiftshader",
    "--use-angle=swiftshader",
    "--enable-unsafe-webgpu",
    "--use-webgpu-adapter=swiftshader",
    "--disable-gpu-compositing",
    "--disable-gpu-rasterization",
]
# A camera that shows a moving picture, and that pages use without asking.
FAKE_CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")


def executable() -> str:
    """Returns Chromium's path. Skips the test if chromium is left out; else may raise FileNotFoundError."""
    require("chromium")
    for name in CHROMIUM:
        if path := find_program(name):
            return path
    raise FileNotFoundError("No Chromium was found; install Debian's package chromium-headless-shell.")


def patient(browser: Browser) -> Browser:
    """Gives `browser`'s pages the tests' usual timeout."""
    browser.on("context", lambda context: context.set_default_timeout(1000 * PATIENCE))
    return browser


async def launch(playwright: Playwright, flags: Sequence[str] = ()) -> Browser:
    """Launches Chromium with the tests' flags, these `flags`, and the tests' timeout."""
    return patient(await playwright.chromium.launch(executable_path=executable(), args=[*FLAGS, *flags]))


class Tab:
    """A page of the harness and its log."""

    def __init__(self, chromium: Chromium, page: Page, log: list[str]) -> None:
        self._chromium = chromium
        self._page = page
        self.log = log

    def evaluate(self, script: str, argument: object = None, seconds: float = LONG) -> Any:
        """Runs a script in the page. Raises TimeoutError after `seconds`."""
        return self._chromium.wait(self._page.evaluate(script, argument), seconds)

    def call(self, method: str, argument: object, seconds: float = LONG) -> Any:
        """Calls a method of the harness' worker."""
        return self.evaluate(
            "([method, argument]) => window.call(method, argument)", [method, argument], seconds
        )

    def worker_heap(self, seconds: float = PATIENCE) -> int:
        """Returns the bytes of JavaScript objects in the page's workers, after garbage collection."""
        return self._chromium.wait(self._worker_heap(), seconds)

    async def _worker_heap(self) -> int:
        session = await self._page.context.new_cdp_session(self._page)
        workers: list[str] = []
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        session.on("Target.attachedToTarget", lambda event: workers.append(event["sessionId"]))
        session.on("Target.receivedMessageFromTarget", lambda event: answers.put_nowait(event))
        attach = {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False}
        await session.send("Target.setAutoAttach", attach)

        async def ask(worker: str, method: str) -> Any:
            message = json.dumps({"id": 1, "method": method})
            await session.send("Target.sendMessageToTarget", {"sessionId": worker, "message": message})
            while (answer := json.loads((await answers.get())["message"])).get("id") != 1:
                pass
            return answer["result"]

        used = 0
        for worker in workers:
            await ask(worker, "HeapProfiler.collectGarbage")
            used += (await ask(worker, "Runtime.getHeapUsage"))["usedSize"]
        await session.detach()
        return used

    def reload(self) -> None:
        """Reloads the page; the browser keeps the site's storage."""
        self._chromium.wait(self._page.reload(), PATIENCE)

    def go(self, address: str) -> None:
        """Opens another address in the tab."""
        self._chromium.wait(self._page.goto(address), PATIENCE)

    def back(self) -> None:
        """Returns to the page that was left."""
        self._chromium.wait(self._page.go_back(), PATIENCE)

    def close(self) -> None:
        self._chromium.wait(self._page.close(), PATIENCE)


class Chromium:
    """Owns the browser and the thread that runs its event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._playwright = self.wait(async_playwright().start(), PATIENCE)
        self.browser = self.wait(launch(self._playwright), PATIENCE)

    def wait(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """Runs a coroutine on the browser's thread. Raises TimeoutError after `seconds`."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise

    def open(self, address: str) -> Tab:
        """Opens a new tab at `address`."""
        return self.wait(self._open(address), PATIENCE)

    async def _open(self, address: str) -> Tab:
        page = await self.browser.new_page()
        log: list[str] = []
        # Subscribing sends messages to the browser, so it must happen on this thread.
        page.on("console", lambda message: log.append(message.text))
        page.on("pageerror", lambda error: log.append(str(error)))
        await page.goto(address)
        return Tab(self, page, log)

    def close(self) -> None:
        self.wait(self.browser.close(), PATIENCE)
        self.wait(self._playwright.stop(), PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def chromium() -> Iterator[Chromium]:
    """Yields a running browser and closes it at the end."""
    browser = Chromium()
    try:
        yield browser
    finally:
        browser.close()
