"""The training page of a task of work units: what it does, what it says, and what it gives back."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.async_api import Browser, Page, WebSocket, expect

from tests.e2e.pages.conftest import listen
from tests.e2e.pages.train.digits_units import write_units
from tests.support.browser.axe import findings
from tests.support.timeouts import HEAVY, eventually
from tests.support.web.server_process import Server, free_port, running

pytestmark = pytest.mark.browser

EASGD = 'name = "easgd"\nalpha = 0.25'
# Stops in the moment in which the page shows that it trains: a unit lasts longer than the showing takes.
STOP_WHILE_TRAINING = """() => {
  if (!document.querySelector("[data-piece=training]")) return false;
  document.querySelector("[data-action=stop]").click();
  return true;
}"""
# Presses the button when there are units in hand, and says which.
FINISH = """() => {
  const open = ["waiting", "training", "sending"].map((word) => `[data-piece=${word}]`).join();
  const begun = [...document.querySelectorAll(open)].map(({ dataset }) => dataset.lease);
  if (begun.length === 0) return false;
  document.querySelector("[data-finish]").click();
  return begun;
}"""
PIECES = """() => Object.fromEntries(
  [...document.querySelectorAll("[data-piece]")].map(({ dataset }) => [dataset.lease, dataset.piece]))"""
Serve = Callable[..., Server]


@pytest.fixture
def serve(models: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts a server on a port that it keeps over a restart; says how its task deals out units."""
    with ExitStack() as stack:

        def start(**how: Any) -> Server:
            write_units(models / "digits", tmp_path / "tasks" / "digits", **how)
            port = str(free_port())
            return stack.enter_context(running(tmp_path / "tasks", tmp_path / "data", "--port", port))

        yield start


async def opened(browser: Browser, server: Server, locale: str = "en") -> Page:
    """A phone's page of a browser of its own that takes part."""
    context = await browser.new_context(viewport={"width": 360, "height": 800}, locale=locale)
    page = await context.new_page()
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    return page


async def counted(page: Page, least: int) -> None:
    """Waits until so many of the page's units count."""
    script = "least => Number(document.querySelector('[data-counted]').textContent) >= least"
    await page.wait_for_function(script, arg=least)


async def made(server: Server, least: int) -> None:
    """Waits until there is this version. A page cannot: it takes a promise for true, whatever it holds."""

    def is_made() -> bool:
        return bool(server.get("/api/tasks/digits")["version"] >= least)

    await asyncio.to_thread(eventually, is_made, "No version came.")


async def contributed(server: Server) -> list[int]:
    """How many units of each client count."""
    answer = await asyncio.to_thread(server.get, "/api/tasks/digits/contributions")
    return sorted(one["accepted"] for one in answer["contributions"])


@pytest.mark.timeout(HEAVY)
async def test_two_browsers_do_each_unit_and_are_told_what_becomes_of_it(
    browser: Browser, serve: Serve
) -> None:
    server = serve()
    english, spanish = [await opened(browser, server, locale) for locale in ("en", "es")]
    complaints = [listen(page) for page in (english, spanish)]
    for page in (english, spanish):
        await counted(page, 3)
        await expect(page.locator("[data-pieces] [data-piece=blended]").first).to_be_visible()
        assert await findings(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await expect(english.locator("[data-trust]")).to_contain_text("in a row agree with what others sent")
    await expect(spanish.locator("[data-trust]")).to_contain_text("coinciden con lo que enviaron otros")
    epoch = re.compile(r"^Epoch \d+ of 40: \d+ of 15 units (are|is) done\.$")
    await expect(english.locator("[data-epoch]")).to_have_text(epoch)
    await expect(english.locator("[data-epoch-more]")).to_contain_text("2 browsers and 0 peers take part.")
    await expect(spanish.locator("[data-epoch]")).to_contain_text("Época")
    # Contributions are written down with the version that an epoch makes; each browser is one participant.
    await made(server, 1)
    first, second = await contributed(server)
    assert first >= 3
    assert second >= 3
    assert complaints == [[], []]


async def test_whoever_finishes_gives_nothing_back_of_what_was_begun(browser: Browser, serve: Serve) -> None:
    server = serve(replicas=1)
    page = await opened(browser, server)
    await counted(page, 2)
    told = "Your device’s results count when they arrive: nobody repeats them for comparison."
    await expect(page.locator("[data-trust]")).to_have_text(told)
    held = await (await page.wait_for_function(FINISH)).json_value()
    await expect(page.locator("[data-status]")).to_have_attribute("data-phase", "stopped")
    await expect(page.locator("[data-status-line]")).to_have_text("Stopped. Thank you!")
    await expect(page.locator("[data-finish]")).to_be_hidden()
    pieces = await page.evaluate(PIECES)
    # A unit that was on its way just then is given back; one that was here is not.
    assert {pieces[lease] for lease in held} <= {"checked", "blended", "counted"}


@pytest.mark.timeout(HEAVY)
async def test_what_a_page_leaves_undone_another_one_does(browser: Browser, serve: Serve) -> None:
    server = serve(replicas=1, epochs=1, passes=20)
    leaves = await opened(browser, server)
    await leaves.wait_for_function(STOP_WHILE_TRAINING)
    await expect(leaves.locator("[data-piece=released]").first).to_be_visible()
    stays = await opened(browser, server)
    await expect(stays.locator("[data-status]")).to_have_attribute("data-phase", "finished")
    task = await asyncio.to_thread(server.get, "/api/tasks/digits")
    assert (task["phase"], task["version"]) == ("finished", 1)


async def test_units_go_on_from_the_pages_own_weights_where_the_task_says_so(
    browser: Browser, serve: Serve
) -> None:
    server = serve(replicas=1, assimilation=EASGD)
    units: list[dict[str, Any]] = []

    def heard(frame: str | bytes) -> None:
        message = msgspec.msgpack.decode(frame) if frame and isinstance(frame, bytes) else {}
        if message.get("type") == "unit":
            units.append(message)

    def connected(socket: WebSocket) -> None:
        socket.on("framereceived", heard)

    context = await browser.new_context()
    page = await context.new_page()
    page.on("websocket", connected)
    complaints = listen(page)
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    await counted(page, 20)
    assert "elastic" in {unit["start"] for unit in units}
    await expect(page.locator("[data-rejected]")).to_have_text("0")
    await made(server, 1)
    assert complaints == []


async def test_a_page_goes_on_when_the_server_was_killed(browser: Browser, serve: Serve) -> None:
    server = serve(replicas=1)
    page = await opened(browser, server)
    await counted(page, 2)
    await asyncio.to_thread(server.stop, signal.SIGKILL)
    await expect(page.locator("[data-status-line]")).to_contain_text("Offline: trying again")
    before = int(await page.locator("[data-counted]").inner_text())
    await asyncio.to_thread(server.start)
    await counted(page, before + 2)
