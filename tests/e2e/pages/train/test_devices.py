"""A volunteer links two browsers on the training page: real server, real Chromium."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser.axe import findings
from tests.support.web.server_process import Server

pytestmark = pytest.mark.browser


async def open_devices(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-devices] summary").click()


async def test_two_browsers_of_one_person_are_listed_together(
    page: Page, browser: Browser, server: Server
) -> None:
    await open_devices(page, server)
    await expect(page.locator("[data-devices-linked]")).to_be_hidden()
    await page.locator("[data-devices-begin]").click()
    await expect(page.locator("[data-devices-list] li")).to_have_count(2)
    assert await findings(page) == []
    key = await page.evaluate("localStorage.getItem('minga-devices-key')")
    other = await (await browser.new_context()).new_page()
    await open_devices(other, server)
    await other.locator("[data-devices-key]").fill(key)
    await other.locator("[data-devices-form] button").click()
    lines = other.locator("[data-devices-list] li")
    await expect(lines).to_have_count(3)
    await expect(lines.nth(1)).to_contain_text("this device")
    await expect(lines.nth(2)).to_have_text("Together in this task: 0 contributions · 0 examples")
    name = await page.locator("[data-devices-known]").text_content()
    await expect(other.locator("[data-devices-known]")).to_have_text(name or "")
    assert key not in other.url
    await other.locator("[data-devices-end]").click()
    await expect(other.locator("[data-devices-apart]")).to_be_visible()
    await page.reload()
    await page.locator("[data-devices] summary").click()
    await expect(page.locator("[data-devices-list] li")).to_have_count(2)
    await other.context.close()
