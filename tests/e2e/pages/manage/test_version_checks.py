"""An owner is asked about a version that did not pass its check: accepts it, or goes back with one click."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Browser, Page, expect

from backend.wire.messages import Version
from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.tasks.checked_task import write_checked
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import HEAVY
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(HEAVY)]

UNCHECKED = "Version 2 could not be checked"


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    write_checked(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def train(server: Server, rounds: int) -> None:
    async with Client(server.url) as client:
        await client.ready()
        for _ in range(rounds):
            await client.deliver(await client.selected(), np.ones(SIZE))
            await client.next(Version)


async def asked(server: Server, browser: Browser, owner: Visitor) -> Page:
    """Opens the dashboard of the task, after two rounds, and waits for the question."""
    context = await browser.new_context()
    await sign_in(context, owner)
    page = await context.new_page()
    await page.goto(f"{server.url}/tasks/tiny/manage")
    await expect(page.locator("[data-check-offered]")).to_contain_text(
        "Version 0, your own model, is offered"
    )
    await expect(page.locator("[data-check-question]")).to_be_hidden()
    await train(server, 3)
    await expect(page.get_by_role("heading", name=UNCHECKED)).to_be_visible(timeout=1000 * HEAVY)
    return page


@pytest.mark.long
async def test_one_click_goes_back_and_answers_the_question(server: Server, browser: Browser) -> None:
    page = await asked(server, browser, operator(server))
    complaints = listen(page)
    await expect(page.locator("[data-check-parts] li")).to_have_count(1)
    await expect(page.locator("[data-alerts] li")).to_contain_text("could not be checked for backdoors")
    assert await findings(page) == []
    await page.locator("[data-check-back]").click()
    await expect(page.locator("[data-check-question]")).to_be_hidden()
    versions = page.locator("[data-versions] tr")
    await expect(versions.nth(0)).to_contain_text("version 0 again")
    await expect(versions.nth(2)).to_contain_text("left behind")
    await train(server, 1)
    assert server.get("/api/tasks/tiny")["version"] == 5
    await page.set_viewport_size({"width": 360, "height": 800})
    wide = await page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360
    assert complaints == []


@pytest.mark.long
async def test_a_version_that_its_owner_accepts_is_offered(server: Server, browser: Browser) -> None:
    page = await asked(server, browser, operator(server))
    await page.locator("[data-check-accept]").click()
    await expect(page.locator("[data-check-question]")).to_be_hidden()
    await expect(page.locator("[data-check-offered]")).to_contain_text("Version 2 is offered")
    await page.get_by_text("All checks").click()
    await expect(page.locator("[data-check-rows] tr")).to_contain_text("accepted by you or another owner")
    await page.goto(f"{server.url}/tasks/tiny")
    await expect(page.locator("[data-offered]")).to_contain_text("Version 2 is offered for trying")
