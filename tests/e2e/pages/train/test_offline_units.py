"""A page that takes work units for an hour without a connection, over a real line that is cut."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages.train.digits_units import write_units
from tests.support.environment.tcp_forwarder import switched
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.server_process import running

pytestmark = pytest.mark.browser

IN_HAND = re.compile(r"Results ready to send: (\d+), units left to train: (\d+)\.")

LOADED = re.compile(r"Units loaded: [1-9]\d\. Enough for about")


@pytest.mark.timeout(HEAVY)
async def test_a_page_trains_its_units_offline_and_their_results_count(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    write_units(models / "digits", tmp_path / "tasks" / "digits", epochs=1, rows=25, replicas=1, passes=20)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        async with switched(server.url) as line:
            page = await browser.new_page()
            await page.goto(f"{line.url}/tasks/digits/train?backend=wasm")
            await page.get_by_label("Without a connection, work for").select_option("an hour")
            await page.locator("[data-action=start]").click()
            # All units of the epoch that are not done yet are in hand, and loaded.
            await expect(page.locator("[data-buffer]")).to_contain_text(LOADED, timeout=PATIENCE * 1000)
            line.cut()
            hint = page.locator("[data-status-hint]")
            async with asyncio.timeout(PATIENCE):
                while not (told := IN_HAND.search(await hint.inner_text())) or int(told[1]) < 5:
                    await page.wait_for_timeout(100)
            counted = page.locator("[data-counted]")
            before = int(await counted.inner_text())
            line.mend()
            async with asyncio.timeout(PATIENCE):
                while int(await counted.inner_text()) < before + 5:
                    await page.wait_for_timeout(100)
            # The choice is there again for the next visit.
            await page.goto(f"{line.url}/tasks/digits/train")
            await expect(page.get_by_label("Without a connection, work for")).to_have_value("3600")
            await page.close()
        assert len(server.table("/api/tasks/digits/figures/assimilations.csv")) >= before + 5
