"""Keeps evidence of a failed test's pages: screenshot, console, errors, WebSocket frames.

It is written while the pages are still open, before the test's fixtures end. `page-1.png` and `page-1.txt`
belong to the first page that the test opened.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, WebSocket

from tests.support.plugins.evidence import failure_folder

Run = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine to its end on the loop of a browser, from outside of that loop."""

MOST_LINES = 500
MOST_FRAMES = 500
# Frames of this many seconds before the failure are kept.
LAST_SECONDS = 30.0
# The limit for a page that is too busy to be drawn.
SCREENSHOT_MILLISECONDS = 10_000
# The limit for all pages of a browser, which may itself be what hangs.
MOST_SECONDS = 30.0
SHORT = 80


class PageLog:
    """The log of one page, newest last, with times."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._lines: deque[tuple[float, str]] = deque(maxlen=MOST_LINES)
        self._frames: deque[tuple[float, str]] = deque(maxlen=MOST_FRAMES)
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._say(f"uncaught: {error.stack or error}"))
        page.on("crash", lambda _: self._say("the page crashed"))
        page.on("framenavigated", lambda frame: self._say(f"at {frame.url}"))
        page.on("websocket", self._websocket)

    def _say(self, line: str) -> None:
        self._lines.append((time.time(), line))

    def _console(self, message: ConsoleMessage) -> None:
        self._say(f"console {message.type}: {message.text}")

    def _websocket(self, socket: WebSocket) -> None:
        def frame(way: str, payload: str | bytes) -> None:
            self._frames.append((time.time(), f"{way} {len(payload):>8} {summary(payload)}"))

        self._frames.append((time.time(), f"opened {socket.url}"))
        socket.on("framesent", lambda payload: frame("sent    ", payload))
        socket.on("framereceived", lambda payload: frame("received", payload))
        socket.on("socketerror", lambda error: self._frames.append((time.time(), f"error {error}")))
        socket.on("close", lambda _: self._frames.append((time.time(), "closed")))

    async def keep(self, path: Path) -> None:
        """Writes text and screenshot to `path`, with their suffixes."""
        late = time.time() - LAST_SECONDS
        text = [f"URL: {self.page.url}", "", "Console and errors:", *map(_timed, self._lines), ""]
        text += [f"WebSocket frames of the last {LAST_SECONDS:.0f} s (bytes, content):"]
        text += [_timed(frame) for frame in self._frames if frame[0] >= late]
        if self.page.is_closed():
            text.append("\nNo screenshot: the page was closed.")
        else:
            try:
                await self.page.screenshot(
                    path=path.with_suffix(".png"), full_page=True, timeout=SCREENSHOT_MILLISECONDS
                )
            except Error as error:
                text.append(f"\nNo screenshot: {error}")
        path.with_suffix(".txt").write_text("\n".join(text) + "\n", "utf-8")


def _timed(said: tuple[float, str]) -> str:
    moment, text = said
    return time.strftime("%H:%M:%S", time.localtime(moment)) + f".{moment % 1 * 1000:03.0f} {text}"


def summary(payload: str | bytes) -> str:
    """Returns the type and the fields of a frame; long values by their length."""
    if isinstance(payload, str):
        return short(payload)
    try:
        message = msgspec.msgpack.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "no msgpack"
    if not isinstance(message, dict):
        return short(message)
    fields = (f"{name}={short(value)}" for name, value in message.items() if name != "type")
    return " ".join([str(message.get("type")), *fields])


def short(value: object) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, list) and len(value) > SHORT // 4:
        return f"<{len(value)} values>"
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


class _Watched:
    """A browser, its pages' logs, and a function that runs a coroutine on its loop."""

    def __init__(self, browser: Browser, run: Run) -> None:
        self.browser = browser
        self.run = run
        self.logs: list[PageLog] = []
        browser.on("context", self._context)

    def _context(self, context: BrowserContext) -> None:
        context.on("page", lambda page: self.logs.append(PageLog(page)))


_watched: list[_Watched] = []


def watch(browser: Browser, run: Run) -> None:
    """Starts logging the pages of `browser`."""
    _watched.append(_Watched(browser, run))


async def _keep(logs: list[PageLog], folder: Path, first: int) -> None:
    async with asyncio.timeout(MOST_SECONDS):
        for number, log in enumerate(logs, first):
            await log.keep(folder / f"page-{number}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forgets the browsers and pages that earlier tests closed."""
    _watched[:] = [watched for watched in _watched if watched.browser.is_connected()]
    for watched in _watched:
        watched.logs = [log for log in watched.logs if not log.page.is_closed()]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: pytest.TestReport = yield  # type: ignore[assignment]
    folder = failure_folder(item)
    # During teardown pages are closed, so earlier evidence shows more.
    if report.failed and not (report.when == "teardown" and (folder / "page-1.txt").exists()):
        number = 1
        for watched in _watched:
            if watched.logs:
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    watched.run(_keep(watched.logs, folder, number))
                except Exception as error:  # pytest would end the whole run
                    (folder / "pages-not-kept.txt").write_text(f"{error!r}\n", "utf-8")
                number += len(watched.logs)
    return report  # type: ignore[return-value]
