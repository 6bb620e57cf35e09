"""An owner with data and no model: a starter is chosen in the wizard, and built once the data are here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.tasks.draft_jobs import TABLE
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.timeout(LONG)]


@pytest.fixture(scope="module")
def server(models: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("starters")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


async def test_a_starter_is_chosen_before_the_data_and_shows_its_size_after(
    browser: Browser, server: Server, ann: Visitor
) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    await sign_in(context, ann)
    page = await context.new_page()
    complaints = listen(page)
    draft = ann.ask("POST", "/api/drafts", {"name": "rows", "onward": True})["id"]
    await page.goto(f"{server.url}/drafts/{draft}/model")
    card = page.locator("[data-starters]")
    await expect(card.locator("li")).to_have_count(6)
    await expect(card.get_by_role("link", name="Bring the data")).to_be_hidden()
    await card.get_by_role("button", name="An MLP for tables").click()
    await expect(card.get_by_role("button", name="An MLP for tables")).to_be_disabled()
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await card.get_by_role("link", name="Bring the data").click()
    await page.wait_for_url("**/data")
    await page.get_by_label("Choose the data").set_input_files(
        {"name": "d.csv", "mimeType": "", "buffer": TABLE.encode()}
    )
    await expect(page.locator("[data-job-look]")).to_contain_text("20")
    await page.goto(f"{server.url}/drafts/{draft}/model")
    await expect(card.locator("[data-starter]")).to_have_count(1)
    await expect(card.locator("[data-job-build] [data-job-line]")).to_have_text(
        "Built for your data: 2,305 parameters."
    )
    await expect(card.locator("[data-starter-size]")).to_have_text(re.compile(r"2.305 parameters\."))
    await expect(page.locator("[data-model-figures]")).to_contain_text(re.compile("2.305"))
    assert complaints == []
    await context.close()
