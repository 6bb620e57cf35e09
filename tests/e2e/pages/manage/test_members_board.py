"""An owner's dashboard shows who has a seat in a mesh of real peers, and whom its members banned."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.peer.byzantine_company import ByzantineCompany
from tests.support.timeouts import LONG
from tests.support.web.visitors import operator

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

ENDLESS = 100_000


async def test_an_owner_sees_seats_validations_and_the_key_that_the_members_banned(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        company = ByzantineCompany(stack, tmp_path, models / "digits")
        company.serve(rounds=ENDLESS, min_available_clients=4, averaging={"patience": 10.0})
        owner = operator(company.server)
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        await sign_in(context, owner)
        page = await context.new_page()
        complaints = listen(page)
        await page.goto(f"http://{owner.host}/tasks/digits/manage")
        card = page.locator("[data-members]")
        await expect(card).to_contain_text("The server knows no agreed state yet.")
        for liar in (None, None, None, "sign"):
            company.join(liar=liar)
        rows = card.locator("[data-member-rows] tr")
        # Of a member that has a seat; the liar may lose its own before the page asks again.
        await expect(rows.filter(has_text="checks the work of").first).to_be_visible(timeout=1000 * LONG)
        keys = card.locator("[data-banned-keys] li")
        await expect(keys).to_have_count(1, timeout=1000 * LONG)
        await expect(rows).to_have_count(3)
        await expect(card.locator("[data-members-status]")).to_contain_text("of 3 seats take part; 2 decide.")
        [banned] = company.server.get("/api/tasks/digits/mesh")["state"]["banned"]
        await expect(keys.locator("code")).to_have_attribute("title", banned)
        assert await findings(page) == []
        await page.set_viewport_size({"width": 360, "height": 740})
        await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
        assert complaints == []
