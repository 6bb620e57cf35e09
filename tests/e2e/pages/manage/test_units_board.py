"""The board of work units on an owner's dashboard, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Browser, expect

from backend.wire.unit_messages import Unit
from tests.e2e.pages.conftest import listen
from tests.e2e.pages.manage.test_manage_page import dashboard
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import SHARDS, SIZE, write_units
from tests.support.web.server_process import Server, running
from tests.support.web.unit_client import UnitClient
from tests.support.web.visitors import operator

STEPS = 2


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    write_units(tmp_path / "tasks" / "tiny", epochs=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def test_an_owner_sees_units_shards_and_whom_to_believe(server: Server, browser: Browser) -> None:
    page = await dashboard(browser, operator(server))
    complaints = listen(page)
    cells = page.locator("[data-map] > span")
    await expect(cells).to_have_count(SHARDS)
    # In words of epochs, not of rounds.
    await expect(page.get_by_role("heading", name="The newest epochs")).to_be_visible()
    await expect(page.get_by_text("No epoch has ended yet.")).to_be_visible()
    await expect(page.get_by_role("button", name="Finish after this epoch")).to_be_visible()
    await expect(page.locator("[data-tally]")).to_have_text(f"{SHARDS} waiting")
    clients = [UnitClient(server.url) for _ in range(3)]
    async with clients[0] as ann, clients[1] as bob, clients[2] as cheat:
        units: list[Unit] = []
        # A second client begins a unit when the first has returned it.
        for client in clients:
            await client.ready()
            units += await client.units(1)
            if client is ann:
                await ann.deliver(units[0], np.ones(SIZE), steps=STEPS)
        assert units[0].unit == units[1].unit != units[2].unit
        await expect(page.locator("[data-map] > [data-phase='leased']")).to_have_count(2)
        await bob.deliver(units[1], np.ones(SIZE), steps=STEPS)
        await expect(page.locator("[data-map] > [data-phase='done']")).to_have_count(1)
        await expect(page.locator("[data-tally]")).to_contain_text("1 done")
        await cheat.deliver(units[2], np.full(SIZE, np.nan), steps=STEPS)
        await expect(page.locator("[data-map] > [data-phase='compared']")).to_have_count(1)
        figures = page.locator("[data-unit-figures]")
        await expect(figures).to_contain_text("1 of 2")
        await expect(figures).to_contain_text("1 result")
        await expect(figures).to_contain_text("3 here")
        await expect(page.locator("[data-state]")).to_have_text("Working through epoch 1")
        row = page.locator("[data-trust] tr").filter(has_text=ann.id)
        await expect(row).to_contain_text("being checked")
        await expect(page.locator("[data-trust] tr").filter(has_text=cheat.id)).to_contain_text("newcomer")
        await expect(page.locator("[data-scores] tr")).to_have_count(1)
        async with page.expect_download() as download:
            await page.get_by_role("link", name="All results as a table").click()
        assert (await download.value).suggested_filename == "tiny-assimilations.csv"
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    assert complaints == []
