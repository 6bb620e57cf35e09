"""The dashboard on which an owner watches and leads a task, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Browser, Page, expect

from backend.wire.messages import Closing, Refused
from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    """One with a task of the operator's, and one that was launched."""
    write_task(tmp_path / "tasks" / "other")
    write_task(tmp_path / "data" / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def dashboard(browser: Browser, owner: Visitor, width: int = 1280) -> Page:
    context = await browser.new_context(viewport={"width": width, "height": 800})
    await sign_in(context, owner)
    page = await context.new_page()
    await page.goto(f"http://{owner.host}/tasks/tiny/manage")
    return page


async def test_an_owner_watches_pauses_and_keeps_out(server: Server, browser: Browser) -> None:
    page = await dashboard(browser, operator(server))
    complaints = listen(page)
    state = page.locator("[data-state]")
    await expect(state).to_have_text("Waiting for 2 more participants")
    async with Client(server.url) as one, Client(server.url) as two:
        for client in (one, two):
            await client.ready()
        plans = [await client.selected() for client in (one, two)]
        await expect(state).to_have_text("Training round 1")
        await page.get_by_role("button", name="Pause").click()
        await expect(state).to_have_text("Pausing: round 1 still ends")
        await one.deliver(plans[0], np.ones(SIZE), loss=0.25)
        assert isinstance(await two.deliver(plans[1], np.full(SIZE, np.nan)), Refused)
        await expect(state).to_have_text("Paused")
        rounds = page.locator("[data-rounds] tr")
        await expect(rounds).to_have_count(1)
        await expect(rounds).to_contain_text("made a version")
        await expect(page.locator("[data-refusals]")).to_contain_text("values not finite")
        await expect(page.locator("[data-alerts]")).to_contain_text("1 update was refused for values")
        await go_back(page)
        await page.get_by_role("button", name="Got it: ").click()
        await expect(page.get_by_role("button", name="Got it: ")).to_have_count(0)
        await page.get_by_role("button", name=f"Keep out: {two.id}").click()
        assert (await two.next(Closing)).code == "banned"
        row = page.locator(f"tr[data-client='{two.id}']")
        await expect(row).to_contain_text("kept out")
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    # The curve is drawn anew for a narrower page in one of its next frames.
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    await delete(page)
    assert complaints == []


async def go_back(page: Page) -> None:
    """Takes a file of version 0 away, then makes it the newest again: version 1 is left behind."""
    versions = page.locator("[data-versions] tr")
    await expect(versions).to_have_count(2)
    menu = versions.nth(1).locator("details")
    await menu.locator("summary").click()
    await expect(menu.locator("li")).to_have_count(8)
    async with page.expect_download() as download:
        await menu.get_by_role("link", name="NumPy").click()
    assert (await download.value).suggested_filename == "tiny-0.npz"
    await expect(menu.get_by_role("listitem").filter(has_text="NumPy")).to_contain_text("SHA-256")
    page.on("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Go back to version 0").click()
    await expect(versions).to_have_count(3)
    await expect(versions.nth(0)).to_contain_text("version 0 again")
    await expect(versions.nth(1)).to_contain_text("left behind")


async def delete(page: Page) -> None:
    """Takes everything away, then deletes the task; ends on the account page."""
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Download the task").click()
    assert (await download.value).suggested_filename == "tiny.zip"
    await page.get_by_label("To delete it, type its name: tiny").fill("tiny")
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()
    await expect(page.locator("a[href='/tasks/tiny']")).to_have_count(0)
    await expect(page.get_by_text("pause, resume and end trainings")).to_be_visible()
    assert await findings(page) == []
    assert await page.evaluate("() => document.documentElement.scrollWidth") <= 360
