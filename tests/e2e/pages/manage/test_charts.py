"""Charts and long tables of an owner's dashboard, in a browser: smoothed, zoomed, compared, saved, paged."""

from __future__ import annotations

import csv
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Browser, Locator, Page, expect

from backend.wire.messages import Refused
from tests.e2e.pages.conftest import listen
from tests.e2e.pages.manage.test_manage_page import dashboard
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator

ROUNDS = 24
# The dashboard's longest interval between updates, and a little.
REFRESHED_MS = 5500


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    """One with two tasks of the operator's."""
    for name in ("other", "tiny"):
        write_task(tmp_path / "tasks" / name)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def train(server: Server, task: str, rounds: int) -> None:
    """Makes as many versions, whose losses fall and rise; each round refuses an update."""
    async with Client(server.url, task) as one, Client(server.url, task) as two:
        for number in range(1, rounds + 1):
            for client in (one, two):
                await client.ready()
            plans = [await client.selected() for client in (one, two)]
            assert isinstance(await two.deliver(plans[1], np.full(SIZE, np.nan)), Refused)
            await one.deliver(plans[0], np.zeros(SIZE), loss=2.0 / number + 0.2 * (number % 3))


async def test_an_owner_reads_a_chart_in_many_ways(server: Server, browser: Browser) -> None:
    await train(server, "tiny", ROUNDS)
    await train(server, "other", 3)
    page = await dashboard(browser, operator(server))
    complaints = listen(page)
    plot = page.locator("[data-curve] .u-over")
    await expect(page.locator("[data-curve] canvas")).to_be_visible()
    tools = page.get_by_role("group", name="Tools of the chart: Loss, version by version")
    await read_by_keyboard(page, plot)
    await smooth_and_scale(page, plot, tools)
    await zoom(page, plot, tools)
    await compare(page)
    await save(page, tools)
    await turn_pages(page)
    await expect(page.locator("[data-refusal-chart] > span")).not_to_have_count(0)
    await page.get_by_text("As a table").click()
    await expect(page.locator("[data-refusal-rows]")).to_contain_text(f"values not finite: {ROUNDS}")
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    assert complaints == []


async def read_by_keyboard(page: Page, plot: Locator) -> None:
    await plot.focus()
    await page.keyboard.press("Home")
    await expect(plot).to_have_attribute("aria-valuenow", "0")
    # A quick hand's second key comes before the chart has drawn the first.
    await plot.evaluate(
        """over => {
            for (const key of ["End", "ArrowLeft"]) over.dispatchEvent(new KeyboardEvent("keydown", { key }));
        }"""
    )
    await expect(plot).to_have_attribute("aria-valuenow", str(ROUNDS - 1))
    await expect(plot).to_have_attribute("aria-valuetext", re.compile("^Version 23, .*Training loss 0.487,"))
    await expect(page.locator("[data-curve] .u-legend")).to_contain_text("0.487")


async def smooth_and_scale(page: Page, plot: Locator, tools: Locator) -> None:
    await tools.get_by_role("slider", name="Smoothing").fill("0.8")
    await plot.focus()
    await page.keyboard.press("End")
    # The smoothed value, and the one that was sent in brackets.
    await expect(page.locator("[data-curve] .u-legend")).to_contain_text(re.compile(r"0\.\d+ \(0\.08333\)"))
    await tools.get_by_label("Logarithmic").check()
    await expect(page.locator("[data-curve] canvas")).to_have_count(1)


async def zoom(page: Page, plot: Locator, tools: Locator) -> None:
    """Drags over the first half, moves on by the keyboard, and shows all again in three ways."""
    back = tools.get_by_role("button", name="Show all")

    async def by_keyboard() -> None:
        await plot.press("Escape")

    ways: list[Callable[[], Awaitable[None]]] = [back.click, plot.dblclick, by_keyboard]
    for show_all in ways:
        # A click may have scrolled the page; hovering looks again for a plot that is replaced meanwhile.
        await plot.hover()
        box = await plot.bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2
        await page.mouse.move(box["x"] + 2, middle)
        await page.mouse.down()
        await page.mouse.move(box["x"] + box["width"] / 2, middle, steps=5)
        await page.mouse.up()
        await expect(back).to_have_attribute("aria-disabled", "false")
        await show_all()
        await expect(back).to_have_attribute("aria-disabled", "true")
    await tools.get_by_role("button", name="Zoom in").click()
    await tools.get_by_role("button", name="Move to the right").click()
    await expect(back).to_have_attribute("aria-disabled", "false")


async def compare(page: Page) -> None:
    await page.get_by_text("Compare with other tasks").click()
    await page.locator("[data-compare] input[value=other]").check()
    legend = page.locator("[data-curve] .u-legend")
    await expect(legend).to_contain_text("other: Training loss")


async def save(page: Page, tools: Locator) -> None:
    """Saves the shown half of the chart: the picture is a PNG, the table has its versions alone."""
    async with page.expect_download() as download:
        await tools.get_by_role("button", name="Save the picture as PNG").click()
    picture = await download.value
    assert picture.suggested_filename == "tiny-loss.png"
    assert (await picture.path()).read_bytes().startswith(b"\x89PNG")
    async with page.expect_download() as download:
        await tools.get_by_role("button", name="Save the numbers as CSV").click()
    table = await download.value
    assert table.suggested_filename == "tiny-loss.csv"
    head, *rows = csv.reader((await table.path()).read_text("utf-8").splitlines())
    assert head[:3] == ["Version", "Training loss", "Training loss, smoothed"]
    # Half of the versions, the later one.
    assert [int(row[0]) for row in rows] == list(range(ROUNDS // 2, ROUNDS + 1))
    assert float(rows[-1][1]) == pytest.approx(2 / ROUNDS)


async def turn_pages(page: Page) -> None:
    """A page of 20 versions, and the rest; a refresh does not turn back."""
    versions = page.locator("[data-versions] tr")
    await expect(versions).to_have_count(20)
    pages = page.get_by_role("navigation", name="Pages: The newest versions")
    await expect(pages).to_contain_text(f"1 to 20 of {ROUNDS + 1}")
    await pages.get_by_role("button", name="Next").press("Enter")
    await expect(versions).to_have_count(ROUNDS + 1 - 20)
    await page.wait_for_timeout(REFRESHED_MS)
    await expect(pages).to_contain_text(f"21 to {ROUNDS + 1} of {ROUNDS + 1}")
    await pages.get_by_role("button", name="Previous").click()
    await expect(versions).to_have_count(20)
