"""The training page of a decentralized task: what it says and draws, and what it does when things break."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen
from tests.e2e.pages.task.canvas_drawing import draw_circle
from tests.support.peer.digits_mesh import write_digits
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

FLAGS = ("--set", "digits.coordination.min_available_clients=2")
WITHOUT_WEBRTC = "delete window.RTCPeerConnection;"


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    """Rounds of two, which go on longer than any test: at their end the mesh disappears from the page."""
    write_digits(models / "digits", tmp_path / "tasks" / "digits", rounds=2000)
    with running(tmp_path / "tasks", tmp_path / "data", *FLAGS, "--port", str(free_port())) as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def opened(browser: Browser, server: Server, script: str = "") -> Page:
    """A page of a browser of its own that takes part."""
    context = await browser.new_context(viewport={"width": 390, "height": 844})
    if script:
        await context.add_init_script(script)
    page = await context.new_page()
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    return page


async def averaged(page: Page, least: int) -> None:
    """Waits until the page averaged in so many rounds."""
    script = "least => Number(document.querySelector('[data-averaged]').textContent) >= least"
    await page.wait_for_function(script, arg=least)


@pytest.mark.timeout(HEAVY)
async def test_pages_link_directly_and_draw_it(browser: Browser, server: Server) -> None:
    pages = [await opened(browser, server) for _ in range(2)]
    complaints = [listen(page) for page in pages]
    for page in pages:
        await averaged(page, 1)
        await expect(page.locator("[data-mesh-summary]")).to_have_text("Linked with 1 of 1 other.")
        await expect(page.locator("[data-mesh] .mesh-peer")).to_have_count(2)
        await expect(page.locator("[data-mesh] [data-way=webrtc] line")).to_have_count(1)
        await expect(page.locator("[data-links] li")).to_contain_text("directly")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # What the page trained itself can be tried, beside what it began with.
    await draw_circle(pages[0])
    headings = pages[0].locator("[data-answers] h3")
    await expect(headings).to_have_text(["Before your update", "With your update"])
    assert complaints == [[], []]


async def test_pages_without_webrtc_are_relayed_and_say_so(browser: Browser, server: Server) -> None:
    pages = [await opened(browser, server, WITHOUT_WEBRTC) for _ in range(2)]
    for page in pages:
        await averaged(page, 1)
        words = "Linked with 1 of 1 other, through the server, sealed."
        await expect(page.locator("[data-mesh-summary]")).to_have_text(words)
        await expect(page.locator("[data-links] li")).to_contain_text("through the server, sealed")
    seen = await asyncio.to_thread(server.get, "/api/tasks/digits/mesh")
    assert seen["carried"] > 0


async def test_a_page_that_closes_is_gone_for_the_others(browser: Browser, server: Server) -> None:
    stays, leaves = [await opened(browser, server) for _ in range(2)]
    await averaged(stays, 1)
    await leaves.close()
    await expect(stays.locator("[data-mesh-summary]")).to_have_text("The others have left.")
    await expect(stays.locator("[data-mesh-figure]")).to_be_hidden()


@pytest.mark.timeout(HEAVY)
async def test_pages_keep_what_they_have_when_the_server_dies_and_bring_it_back(
    browser: Browser, server: Server
) -> None:
    pages = [await opened(browser, server) for _ in range(2)]
    for page in pages:
        await averaged(page, 2)
    await asyncio.to_thread(server.stop, signal.SIGKILL)
    for page in pages:
        line = page.locator("[data-status-line]")
        await expect(line).to_contain_text("Server away: trying again")
    done = [int(await page.locator("[data-averaged]").inner_text()) for page in pages]
    await asyncio.to_thread(server.start)
    for page, before in zip(pages, done, strict=True):
        await averaged(page, before + 1)
    # Rounds went on from there: the server did not put the mesh back.
    rounds = [int(await page.locator("[data-train]").get_attribute("data-round") or 0) for page in pages]
    assert min(rounds) > min(done)
