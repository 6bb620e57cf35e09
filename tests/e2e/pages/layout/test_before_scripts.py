"""Owners' pages while their scripts are still on the way: nothing that needs one can be pressed yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from tests.e2e.pages.conftest import sign_in
from tests.e2e.pages.task.round_history import write_history
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program

# A form with an address or a method of its own works without a script.
PRESSABLE = """() => [...document.querySelectorAll("button:enabled, [type=submit]:enabled")]
  .filter((one) => one.checkVisibility() && !one.closest("[inert]"))
  .filter((one) => !one.form?.hasAttribute("action") && !one.form?.hasAttribute("method"))
  .map((one) => one.outerHTML)"""
ROUNDS = 9
PHONE: ViewportSize = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A task that has versions."""
    folder = tmp_path_factory.mktemp("before")
    tasks, data = folder / "tasks", folder / "data"
    write_task(data / "tasks" / "tiny", rounds=500)
    write_task(tasks / "other")
    with running(tasks, data) as server:
        bundle = server.get("/api/tasks/tiny")["bundle"]
    write_history(data, bundle, ROUNDS)
    with running(tasks, data) as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    """The operator."""
    return operator(server)


async def look(page: Page, address: str) -> list[str]:
    """What can be pressed at `address` before its scripts came; they come when that was seen."""
    come = asyncio.Event()

    async def late(route: Route) -> None:
        await come.wait()
        await route.continue_()

    await page.route("**/*.js", late)
    await page.goto(address, wait_until="commit")
    await expect(page.locator("footer")).to_be_attached()
    pressable: list[str] = await page.evaluate(PRESSABLE)
    come.set()
    await page.wait_for_load_state()
    await expect(page.locator("[data-unbound]")).to_have_count(0)
    await page.unroute_all(behavior="wait")
    return pressable


@pytest.mark.timeout(HEAVY)
async def test_what_needs_a_script_waits_for_it(browser: Browser, server: Server, ann: Visitor) -> None:
    draft = Drafter(program(ann, "create", "edit")).begin("dogs").rpartition("/")[2]
    ann.ask("POST", "/api/tasks/tiny/invitations", {"note": "", "uses": 1, "days": 1})
    addresses = ["/account", "/drafts", "/tasks/tiny", "/tasks/tiny/train", "/tasks/tiny/rounds"]
    addresses += ["/tasks/tiny/manage", "/tasks/tiny/access", f"/tasks/tiny/versions/{ROUNDS - 2}"]
    addresses += [f"/drafts/{draft}/{step}" for step in ("model", "data", "plan", "about", "review")]
    page = await browser.new_page(viewport=PHONE)
    await sign_in(page.context, ann)
    for address in addresses:
        assert await look(page, server.url + address) == [], address

    stranger = await browser.new_page(viewport=PHONE)
    assert await look(stranger, f"{server.url}/sign-in") == []


async def test_a_password_sent_before_the_script_came_stays_out_of_the_address(
    browser: Browser, server: Server, ann: Visitor
) -> None:
    page = await browser.new_page(viewport=PHONE)
    await page.route("**/*.js", lambda _: None)
    await page.goto(f"{server.url}/sign-in", wait_until="commit")
    form = page.locator("[data-password-form]")
    await form.get_by_label("Name").fill("ann")
    await form.get_by_label("Password").fill("secret of ann")
    async with page.expect_request(lambda request: request.method == "POST") as sent:
        await form.get_by_label("Password").press("Enter")
    assert "secret" not in (await sent.value).url
    await expect(page.get_by_role("alert")).not_to_be_empty()
    assert page.url == f"{server.url}/sign-in"
