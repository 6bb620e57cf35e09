"""The gallery finds tasks, with scripts and without, and shows what each wants."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import bring_own, write_task
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Three tasks: one wants a single volunteer, two want two; one of these has them bring arrays."""
    folder = tmp_path_factory.mktemp("gallery")
    for name, wanted, topics in (("birds", 2, ["images"]), ("poems", 2, ["text", "own"]), ("wines", 1, [])):
        file = write_task(folder / "tasks" / name, min_available_clients=wanted) / "task.toml"
        text = file.read_text("utf-8").replace(
            'title = "Tiny"', f'title = "{name.title()}"\ntopics = {topics}'
        )
        file.write_text(text, "utf-8")
    bring_own(folder / "tasks" / "poems", 1, 9, 0.0)
    with running(folder / "tasks", folder / "data") as running_server:
        yield running_server


def shown(page: Page) -> Locator:
    return page.locator("[data-card]:visible h3")


async def test_where_fewest_are_missing_stands_first_and_cards_say_what_to_bring(
    page: Page, server: Server
) -> None:
    await page.goto(server.url)
    await expect(shown(page)).to_have_text(["Wines", "Birds", "Poems"])
    await expect(page.locator("[data-card]").nth(1)).to_contain_text("No data needed")
    await expect(page.locator("[data-card]").nth(2)).to_contain_text("You bring arrays")
    assert await findings(page) == []


async def test_cards_follow_what_is_typed_and_the_topic(page: Page, server: Server) -> None:
    await page.goto(server.url)
    field = page.get_by_role("searchbox", name="Find a task")
    await field.fill("bird")
    await expect(shown(page)).to_have_text(["Birds"])
    await expect(page.locator("[data-found]")).to_have_text("1 of 3 tasks")
    await expect(page).to_have_url(f"{server.url}/?q=bird")
    await page.get_by_role("button", name="own", exact=True).click()
    await expect(page.get_by_text("No task matches your search.")).to_be_visible()
    await field.fill("")
    await expect(shown(page)).to_have_text(["Poems"])
    await page.reload()
    await expect(shown(page)).to_have_text(["Poems"])
    await page.get_by_role("button", name="all topics").click()
    await expect(shown(page)).to_have_count(3)
    await expect(page).to_have_url(re.compile("/$"))


async def test_without_scripts_the_server_finds(browser: Browser, server: Server) -> None:
    page = await (await browser.new_context(java_script_enabled=False)).new_page()
    await page.goto(f"{server.url}/?topic=own")
    await expect(shown(page)).to_have_text(["Poems"])
    await page.get_by_role("searchbox", name="Find a task").fill("birds")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("No task matches your search.")).to_be_visible()
    await page.get_by_role("button", name="images").click()
    await expect(shown(page)).to_have_text(["Birds"])
    await expect(page.get_by_role("button", name="images")).to_have_attribute("aria-pressed", "true")
