"""An owner says where the data lie, and their own browser tries what volunteers' browsers will fetch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Route, expect

from tests.e2e.pages.conftest import sign_in
from tests.support.browser.axe import findings
from tests.support.environment.data_server import elsewhere
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator

pytestmark = pytest.mark.browser

TABLE = b"a,b,class\n" + b"".join(b"%d,%d,%c\n" % (n, n * n, b"xy"[n % 2]) for n in range(20))


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    write_task(tmp_path / "tiny")
    with running(tmp_path / "tiny", tmp_path / "data") as server:
        yield server


async def test_an_address_is_tried_before_anybody_depends_on_it(browser: Browser, server: Server) -> None:
    ann = operator(server)
    page = await browser.new_page(viewport={"width": 360, "height": 740})
    await sign_in(page.context, ann)
    await page.goto(f"{server.url}/drafts")
    await page.get_by_label("Title").fill("Far")
    await page.get_by_role("button", name="Begin").click()
    await page.wait_for_url("**/drafts/*/model")
    await page.goto(page.url.replace("/model", "/data"))
    with elsewhere({"/d.csv": TABLE}) as place:
        address = f"{place.origin}/d.csv"
        saved = asyncio.Event()

        async def save_later(route: Route) -> None:
            await saved.wait()
            await route.continue_()

        await page.route("**/api/drafts/*", save_later)
        await page.get_by_label("They are at a web address").check()
        field = page.get_by_label("Address of the file")
        await field.fill("here.csv")
        await field.blur()
        line = page.locator("[data-address-line]")
        await expect(line).to_contain_text("begins with https://")
        # The answer to a change before does not take away what was typed since.
        saved.set()
        await expect(page.locator("[data-saved]")).to_contain_text("Saved")
        await expect(field).to_have_value("here.csv")
        await expect(line).to_contain_text("begins with https://")
        await page.unroute("**/api/drafts/*")
        await field.fill(address)
        await field.blur()
        await page.get_by_label("Choose the data").set_input_files(
            {"name": "d.csv", "mimeType": "text/csv", "buffer": TABLE}
        )
        button = page.get_by_role("button", name="Try it in this browser")
        await expect(button).to_be_enabled()
        await button.click()
        await expect(line).to_contain_text("This browser had the very file from")
        assert place.asked == ["/d.csv"]
        assert await findings(page) == []
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        place.closed = True
        await button.click()
        await expect(line).to_contain_text("Volunteers would be told: This page cannot read from")
    # Another source takes its table away, so that the task file stays sound.
    await page.get_by_label("I upload them").check()
    await expect(page.locator("[data-address-card]")).to_be_hidden()
