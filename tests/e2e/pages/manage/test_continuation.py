"""An owner goes on with a finished task: trains more, starts over, makes another task of a version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    write_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


async def train(server: Server, rounds: int) -> None:
    async with Client(server.url) as one, Client(server.url) as two:
        for client in (one, two):
            await client.ready()
        for _ in range(rounds):
            plans = [await client.selected() for client in (one, two)]
            for client, plan in zip((one, two), plans, strict=True):
                await client.deliver(plan, np.ones(SIZE))


async def dashboard(browser: Browser, owner: Visitor) -> Page:
    context = await browser.new_context()
    await sign_in(context, owner)
    page = await context.new_page()
    await page.goto(f"http://{owner.host}/tasks/tiny/manage")
    page.on("dialog", lambda dialog: dialog.accept())
    await expect(page.locator("[data-state]")).to_have_text("Finished")
    return page


async def test_an_owner_trains_more_rounds_with_another_plan(server: Server, browser: Browser) -> None:
    ann = operator(server)
    await train(server, 2)
    page = await dashboard(browser, ann)
    complaints = listen(page)
    await page.get_by_label("Rounds from now on").fill("3")
    await page.get_by_text("Change the plan").click()
    await page.get_by_label("Learning rate").fill("0.125")
    assert await findings(page) == []
    await page.get_by_role("button", name="Train more").click()
    await expect(page.locator("[data-extend-state]")).to_have_text("It trains on, up to version 5.")
    # The open page shows the new host of the task.
    await expect(page.locator("[data-state]")).to_have_text("Waiting for 2 more participants")
    await train(server, 1)
    await expect(page.locator("[data-versions] tr")).to_have_count(4)
    assert complaints == []


async def test_an_owner_starts_over(server: Server, browser: Browser) -> None:
    ann = operator(server)
    await train(server, 2)
    page = await dashboard(browser, ann)
    await page.get_by_role("button", name="Start over from version 0").click()
    versions = page.locator("[data-versions] tr")
    await expect(versions).to_have_count(4)
    await expect(versions.nth(0)).to_contain_text("version 0 again")
    await expect(versions.nth(1)).to_contain_text("left behind")
    await expect(page.locator("[data-state]")).to_have_text("Waiting for 2 more participants")


async def test_an_owner_makes_a_draft_of_a_version(server: Server, browser: Browser) -> None:
    ann = operator(server)
    await train(server, 2)
    page = await dashboard(browser, ann)
    form = page.locator("[data-fork-form]")
    await form.get_by_label("Its name").fill("tiny-b")
    await form.get_by_label("From version").select_option("1")
    await form.get_by_role("button", name="Make a draft of it").click()
    await page.wait_for_url("**/drafts/*/**")
    (draft,) = ann.ask("GET", "/api/drafts")["drafts"]
    assert ann.ask("GET", f"/api/drafts/{draft['id']}")["task"]["name"] == "tiny-b"


async def test_a_finished_task_is_shown_with_its_result(server: Server, browser: Browser) -> None:
    await train(server, 2)
    page = await browser.new_page()
    async with asyncio.timeout(30):
        while server.get("/api/tasks/tiny")["phase"] != "finished":  # noqa: ASYNC110 - another process.
            await asyncio.sleep(0.05)
    await page.goto(server.url)
    await expect(page.get_by_text("No task needs anybody at the moment.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Finished tasks")).to_be_visible()
    card = page.locator("[data-card]")
    await expect(card).to_contain_text("Finished on")
    await expect(card.get_by_role("link", name="Download the result")).to_have_attribute(
        "href", "/tasks/tiny/versions/2"
    )
