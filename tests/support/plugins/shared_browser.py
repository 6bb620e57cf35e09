"""One Chromium for all tests of a process; each test has its own browser contexts and tasks.

Playwright's objects belong to one event loop. Tests that use `browser` therefore run on the session's loop,
and async fixtures that use it are marked `@pytest_asyncio.fixture(loop_scope="session")`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import playwright
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Error, Playwright, async_playwright

from tests.support.browser.chromium import launch
from tests.support.plugins.evidence import has_failed
from tests.support.plugins.page_evidence import watch

# Seconds for a test's leftovers to end by themselves, such as connections that the other side just closed.
GRACE = 5.0
PLAYWRIGHT = Path(playwright.__file__).parent


class SharedBrowser:
    """Launches Chromium on first use, and again after a crash or `discard`."""

    def __init__(self) -> None:
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None

    async def running(self) -> Browser:
        if self._browser is not None and not self._browser.is_connected():
            await self.discard()
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        if self._browser is None:
            self._browser = await launch(self._playwright)
            watch(self._browser, asyncio.get_running_loop().run_until_complete)
        return self._browser

    async def discard(self) -> None:
        """Ends Chromium and Playwright's driver, even if they no longer answer."""
        browser, driver = self._browser, self._playwright
        self._browser = self._playwright = None
        with contextlib.suppress(Error, TimeoutError):
            if browser is not None:
                await asyncio.wait_for(browser.close(), GRACE)
        with contextlib.suppress(Error, TimeoutError):
            if driver is not None:
                await asyncio.wait_for(driver.stop(), GRACE)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[SharedBrowser]:
    shared = SharedBrowser()
    yield shared
    await shared.discard()


@pytest_asyncio.fixture(loop_scope="session")
async def browser(request: pytest.FixtureRequest, shared_browser: SharedBrowser) -> AsyncIterator[Browser]:
    """The process' Chromium; its contexts are closed after the test, whose tasks must have ended.

    After a failure the next test gets a new one, since the cause may have damaged the browser.
    """
    browser = await shared_browser.running()
    before = asyncio.all_tasks()
    yield browser
    if has_failed(request.node):
        await shared_browser.discard()
    else:
        for context in browser.contexts:
            await context.close()
    left = await end_tasks(before)
    assert has_failed(request.node) or not left, f"The test left tasks running: {left}"


async def end_tasks(before: set[asyncio.Task[object]]) -> list[asyncio.Task[object]]:
    """Cancels tasks of this loop that are not in `before`; returns those that did not end in time."""
    began = asyncio.all_tasks() - before - {asyncio.current_task()}
    # Playwright waits forever for a routed request that a test never answered.
    waiting = {task for task in began if is_of_playwright(task)}
    left = began - waiting
    if left:
        _, left = await asyncio.wait(left, timeout=GRACE)
    for task in waiting | left:
        task.cancel()
    if waiting | left:
        await asyncio.wait(waiting | left, timeout=GRACE)
    return list(left)


def is_of_playwright(task: asyncio.Task[object]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and Path(code.co_filename).is_relative_to(PLAYWRIGHT)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "shared_browser" in item.fixturenames:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
