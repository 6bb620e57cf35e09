"""The training page, as a volunteer meets it: real server, real Chromium, real training."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Error, Page, expect

from tests.e2e.pages.conftest import listen
from tests.support.browser.axe import findings
from tests.support.timeouts import PATIENCE, eventually
from tests.support.web.raw_client import Raw
from tests.support.web.server_process import Server, free_port, running

pytestmark = pytest.mark.browser

# The WebAssembly files that a thread has loaded, by their names.
WASM = """
() => performance.getEntriesByType("resource")
  .map(({ name }) => new URL(name).pathname.split("/").at(-1))
  .filter((name) => name.endsWith(".wasm"))
"""

# What stands in the cells of the rows of a table.
CELLS = "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => Number(cell.textContent)))"


async def open_training(page: Page, server: Server, backend: str = "wasm") -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend={backend}")


async def start(page: Page) -> None:
    await page.locator("[data-action=start]").click()


async def accepted(page: Page, least: int) -> None:
    """Waits until so many updates count."""
    await page.wait_for_function(
        "least => Number(document.querySelector('[data-accepted]').textContent) >= least",
        arg=least,
    )


async def participants(server: Server) -> Any:
    return (await asyncio.to_thread(server.get, "/api/tasks/digits"))["participants"]


async def nobody_takes_part(server: Server) -> None:
    """Waits until the server counts nobody any more, and all updates that it accepted."""

    def is_idle() -> bool:
        task = server.get("/api/tasks/digits")
        return bool(task["participants"] == 0 and task["phase"] == "waiting")

    await asyncio.to_thread(eventually, is_idle, "Somebody takes part.")


async def test_one_press_of_the_button_and_an_update_counts(page: Page, server: Server) -> None:
    await open_training(page, server)
    await start(page)
    await accepted(page, 2)
    await expect(page.locator("[data-backend]")).to_have_text("WebAssembly")
    await expect(page.locator("[data-people] li.me")).to_contain_text(" · Browser, WebAssembly")
    await page.locator("[data-action=stop]").click()
    await expect(page.locator("[data-status-line]")).to_have_text("Stopped. Thank you!")
    await nobody_takes_part(server)
    answer = await asyncio.to_thread(server.get, "/api/tasks/digits/contributions")
    [mine] = answer["contributions"]
    assert (mine["kind"], mine["backend"]) == ("browser", "wasm")
    assert mine["accepted"] >= 2
    assert mine["examples"] >= 2 * 100
    path = "/api/tasks/digits/contributions?client="
    assert (await asyncio.to_thread(server.get, f"{path}{mine['client']}")) == answer
    assert (await asyncio.to_thread(server.get, f"{path}{'0' * 16}"))["contributions"] == []
    await page.reload()
    await expect(page.locator("[data-earlier-visits]")).to_contain_text("contributions of this device count")
    await page.evaluate("localStorage.clear()")
    await page.reload()
    await expect(page.locator("[data-action=start]")).to_be_enabled()
    await expect(page.locator("[data-earlier-visits]")).to_be_hidden()


async def test_a_browser_that_comes_back_is_the_same_participant(page: Page, server: Server) -> None:
    for _ in range(2):
        await open_training(page, server)
        await start(page)
        await accepted(page, 1)
    answer = await asyncio.to_thread(server.get, "/api/tasks/digits/contributions")
    assert len(answer["contributions"]) == 1


async def test_the_page_answers_while_it_trains(page: Page, server: Server) -> None:
    await open_training(page, server)
    await start(page)
    await accepted(page, 1)
    # The arithmetic is in a worker; the page's own thread has none, so that it is free for frames and clicks.
    loaded: list[str] = []
    for worker in page.workers:
        # One that had a short job may have ended meanwhile.
        with suppress(Error):
            loaded += await worker.evaluate(WASM)
    assert any("tfjs" in name for name in loaded), loaded
    assert await page.evaluate(WASM) == []
    for _ in range(10):
        await page.evaluate("new Promise((drawn) => requestAnimationFrame(drawn))")
    await accepted(page, 2)


async def test_the_address_chooses_the_backend_and_starts_nothing(page: Page, server: Server) -> None:
    await open_training(page, server, "cpu")
    await expect(page.locator("input[value=cpu]")).to_be_checked()
    await expect(page.locator("[data-status-line]")).to_have_text("Ready when you are")
    await asyncio.sleep(1)
    assert await participants(server) == 0


async def test_the_keyboard_alone_starts_and_stops(page: Page, server: Server) -> None:
    await open_training(page, server)
    await page.locator("[data-action=start]").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-action=stop]")).to_be_focused()
    await accepted(page, 1)
    await page.keyboard.press("Space")
    await expect(page.locator("[data-action=start]")).to_have_text("Start training")
    await nobody_takes_part(server)


async def test_a_second_tab_takes_over_and_the_first_says_so(browser: Browser, server: Server) -> None:
    context = await browser.new_context()
    first, second = await context.new_page(), await context.new_page()
    complaints = [*listen(first), *listen(second)]
    for page in (first, second):
        await open_training(page, server)
        await start(page)
        await accepted(page, 1)
    await expect(first.locator("[data-status]")).to_have_attribute("data-phase", "stopped")
    await expect(first.locator("[data-action=start]")).to_be_enabled()
    assert complaints == []


async def test_closing_the_page_is_leaving(page: Page, server: Server) -> None:
    await open_training(page, server)
    await start(page)
    await accepted(page, 1)
    await page.goto(server.url)
    await nobody_takes_part(server)


async def test_the_page_comes_back_by_itself_after_the_server_was_killed(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    page = await browser.new_page()
    flags = ("--set", "digits.coordination.min_available_clients=1", "--port", str(free_port()))
    with running(models / "digits", tmp_path, *flags) as server:
        await open_training(page, server)
        await start(page)
        await accepted(page, 1)
        await asyncio.to_thread(server.stop, signal.SIGKILL)
        await expect(page.locator("[data-status-line]")).to_contain_text("Offline: trying again")
        counted = int(await page.locator("[data-accepted]").inner_text())
        await asyncio.to_thread(server.start)
        await accepted(page, counted + 1)


@pytest.mark.long
async def test_the_page_notices_that_the_server_vanished_without_a_word(
    page: Page, models: Path, tmp_path: Path
) -> None:
    flags = ("--set", "digits.coordination.min_available_clients=1")
    with running(models / "digits", tmp_path, *flags) as server:
        await open_training(page, server)
        await start(page)
        await accepted(page, 1)
        # Its system still takes what the page sends.
        server.process.send_signal(signal.SIGSTOP)
        status = page.locator("[data-status-line]")
        await expect(status).to_contain_text("Offline: trying again", timeout=1000 * PATIENCE)
        counted = int(await page.locator("[data-accepted]").inner_text())
        server.process.send_signal(signal.SIGCONT)
        await accepted(page, counted + 1)


async def test_who_is_sent_away_reads_why_and_comes_back_by_itself(
    page: Page, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINGA_JOINS_PER_MINUTE", "6")
    flags = ("--set", "digits.coordination.min_available_clients=1")
    with running(models / "digits", tmp_path, *flags) as server:
        await open_training(page, server)
        for _ in range(6):
            (await asyncio.to_thread(Raw, server.url, "digits")).socket.close()
        await start(page)
        await expect(page.locator("[data-status-line]")).to_contain_text("Offline: trying again")
        await expect(page.locator("[data-status-hint]")).to_contain_text("too fast from your network address")
        await accepted(page, 1)


async def test_versions_and_curves_appear_while_training(page: Page, server: Server) -> None:
    await open_training(page, server)
    await start(page)
    await expect(page.locator("[data-curve-mine] canvas")).to_be_visible()
    await expect(page.locator("[data-curve] canvas")).to_be_visible()
    await expect(page.locator("tr[data-version='1']")).to_have_count(1)
    # The dashed lines of this device's own rounds stand beside those of all, and in a table.
    await expect(page.locator("[data-curve] .u-legend th")).to_contain_text(
        ["Accuracy", "Loss", "Accuracy on your device", "Loss on your device"]
    )
    await page.locator("[data-mine-table] summary").click()
    first = page.locator("[data-mine-rounds] tr").last.locator("th, td")
    await expect(first.first).to_have_text("1")
    await expect(first.nth(3)).to_contain_text("%")


async def test_the_page_shows_where_a_version_is_wrong(page: Page, server: Server) -> None:
    await open_training(page, server)
    await start(page)
    card = page.locator("[data-mistakes]")
    await expect(card).to_be_visible()
    await expect(card.locator("[data-mistakes-line]")).to_contain_text("Your device trained on them last")
    await expect(card.locator("tbody th")).to_have_text([str(digit) for digit in range(10)])
    # Every answer stands in one cell, the right ones on the diagonal.
    rows = await card.locator("tbody tr").evaluate_all(CELLS)
    right, all_of_them = sum(row[i] for i, row in enumerate(rows)), sum(map(sum, rows))
    line = await card.locator("[data-mistakes-line]").inner_text()
    assert f"is right with {right} of {all_of_them} examples" in line
    found = await findings(page)
    assert found == []
