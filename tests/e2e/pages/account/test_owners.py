"""An owner's pages in a real browser: the first link, passkeys, invitations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.e2e.pages.conftest import listen
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import Server, running


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Server]:
    """A server that is nobody's yet, with a task by invitation."""
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data", "--set", "tiny.access.visibility=invited") as server:
        yield server


async def with_authenticator(page: Page) -> Any:
    """Gives a tab a device that makes and uses passkeys; its session of Chromium's own protocol."""
    session = await page.context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
    }
    await session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return session


async def looked_at(page: Page) -> None:
    """Nothing on the page sticks out of a phone, and axe finds nothing serious."""
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await findings(page) == []


async def new_context(browser: Browser) -> BrowserContext:
    return await browser.new_context(viewport={"width": 360, "height": 740})


@pytest.mark.timeout(HEAVY)
async def test_an_owner_signs_in_by_link_and_passkey_and_invites_a_volunteer(
    browser: Browser, owned: Server
) -> None:
    context = await new_context(browser)
    page = await context.new_page()
    complaints = listen(page)
    await with_authenticator(page)

    await page.goto(owned.report["owner_link"])
    assert "#" not in page.url
    await page.get_by_label("Name", exact=True).first.fill("ann")
    await looked_at(page)
    await page.get_by_role("button", name="Sign in").first.click()
    await expect(page.get_by_role("heading", name="ann", exact=True)).to_be_visible()

    await page.get_by_label("Name of this device").fill("phone")
    await page.get_by_role("button", name="Add a passkey").click()
    await expect(page.get_by_text("passkey, created")).to_be_visible()
    await looked_at(page)

    await page.get_by_role("button", name="Sign out", exact=True).first.click()
    await page.wait_for_url("**/")
    await page.goto(f"{page.url}sign-in")
    await looked_at(page)
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="ann", exact=True)).to_be_visible()
    await expect(page.get_by_text("passkey, used")).to_be_visible()

    await page.get_by_role("link", name="Invitations and roles").click()
    await page.get_by_role("button", name="Make an invitation").click()
    field = page.get_by_label("Address (shown only once)")
    await expect(field).to_be_visible()
    await expect(page.get_by_alt_text("QR code")).to_be_visible()
    await looked_at(page)
    invitation = await field.input_value()

    volunteer = await (await new_context(browser)).new_page()
    complaints_of_volunteer = listen(volunteer)
    await volunteer.goto(invitation)
    await volunteer.wait_for_url("**/tasks/tiny")
    await expect(volunteer.get_by_role("heading", name="Tiny", exact=True).first).to_be_visible()
    assert complaints == complaints_of_volunteer == []


async def test_an_invitation_that_does_not_hold_says_so(browser: Browser, owned: Server) -> None:
    page = await (await new_context(browser)).new_page()
    await page.goto(f"{owned.url}/join#{'x' * 43}")
    await expect(page.get_by_role("alert")).to_contain_text("is not valid")
    await page.goto(f"{owned.url}/join")
    await expect(page.get_by_role("alert")).to_contain_text("is incomplete")
    await looked_at(page)
