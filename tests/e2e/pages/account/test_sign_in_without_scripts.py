"""Signing in with JavaScript off: by name and password, and by a link."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

pytestmark = pytest.mark.browser

PHRASE = "a long password of ann"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("signing")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator, who has a password."""
    visitor = operator(server)
    visitor.ask("PUT", "/api/account/password", {"password": PHRASE})
    return visitor


async def bare_page(browser: Browser, server: Server) -> Page:
    """The sign-in page on a phone whose browser runs no scripts."""
    context = await browser.new_context(
        java_script_enabled=False, viewport={"width": 360, "height": 740}, locale="en-GB"
    )
    page = await context.new_page()
    await page.goto(f"{server.url}/sign-in")
    return page


async def test_a_name_and_a_password_lead_to_the_account(
    browser: Browser, server: Server, ann: Visitor
) -> None:
    bare = await bare_page(browser, server)
    form = bare.locator("[data-password-form]")
    await form.get_by_label("Name").fill("ann")
    await form.get_by_label("Password").fill("not that one, for sure")
    await form.get_by_role("button").click()
    await expect(bare.get_by_role("alert")).to_contain_text("password")
    await expect(form.get_by_label("Name")).to_have_value("ann")
    await form.get_by_label("Password").fill(PHRASE)
    await form.get_by_role("button").click()
    await expect(bare).to_have_url(f"{server.url}/account")
    await expect(bare.locator("main")).to_contain_text("You run this server.")
    (cookie,) = await bare.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Lax"


@pytest.mark.parametrize("whole", [True, False], ids=["the link", "its code"])
async def test_a_link_leads_to_a_new_account(
    browser: Browser, server: Server, ann: Visitor, whole: bool
) -> None:
    link, name = ann.ask("POST", "/api/account/links", {}), "bob" if whole else "eve"
    bare = await bare_page(browser, server)
    form = bare.locator("noscript form")
    await form.get_by_label("The link,").fill(server.url + link["path"] if whole else link["code"])
    await form.get_by_label("A name").fill(name)
    await form.get_by_role("button").click()
    await expect(bare).to_have_url(f"{server.url}/account")
    await expect(bare.locator("main")).to_contain_text(name)


async def test_scripts_sign_in_as_before_and_axe_finds_nothing(
    page: Page, server: Server, ann: Visitor
) -> None:
    await page.goto(f"{server.url}/sign-in")
    assert await findings(page) == []
    form = page.locator("[data-password-form]")
    await form.get_by_label("Name").fill("ann")
    await form.get_by_label("Password").fill(PHRASE)
    await form.get_by_role("button").click()
    await expect(page).to_have_url(f"{server.url}/account")
