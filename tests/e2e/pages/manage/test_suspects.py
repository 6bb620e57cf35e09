"""An owner sees a liar among the suspects of a task, with reasons, and lifts its quarantine."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from backend.wire.messages import Accepted
from tests.e2e.pages.conftest import listen, sign_in
from tests.support.attacks.judged_rounds import judging_server, lie, play
from tests.support.browser.axe import findings
from tests.support.web.rounds_client import Client
from tests.support.web.visitors import Visitor, operator

CLIENTS = 6
ROBUST = '[security.robust]\nrule = "trimmed-mean"\nattackers = 1'


async def dashboard(browser: Browser, owner: Visitor) -> Page:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    await sign_in(context, owner)
    page = await context.new_page()
    await page.goto(f"http://{owner.host}/tasks/tiny/manage")
    return page


async def test_an_owner_sees_a_liar_with_reasons_and_lifts_its_quarantine(
    models: Path, tmp_path: Path, browser: Browser
) -> None:
    del models
    with judging_server(tmp_path, CLIENTS, ROBUST) as server:
        page = await dashboard(browser, operator(server))
        complaints = listen(page)
        part = page.locator("[data-suspects]")
        await expect(part).to_contain_text("the settings bear 1 of 6 false updates (trimmed-mean)")
        await expect(part).to_contain_text("find up to 2 of 6 participants that lie again and again")
        await expect(part).to_contain_text("No updates look false.")
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(server.url)) for _ in range(CLIENTS)]
            for client in clients:
                await client.ready()
            for number in range(1, 5):
                (told, *_), _ = await play(clients, {0: lie(0, number)})
            assert isinstance(told, Accepted)
            assert not told.counted
            row = part.locator(f"tr[data-suspect='{clients[0].id}']")
            await expect(row).to_contain_text("in quarantine for 1 more round at least")
            await expect(row).to_contain_text("100.0")
            await expect(row).to_contain_text("against most others")
            await expect(row.get_by_role("img")).to_have_attribute(
                "aria-label", "Of 4 rounds, 4 with evidence"
            )
            await expect(row.locator("[data-series='1']")).to_have_count(3)
            await expect(row.locator("[data-series='4']")).to_have_count(1)
            await expect(part.locator("tbody tr")).to_have_count(1)
            assert await findings(page) == []
            await page.set_viewport_size({"width": 360, "height": 740})
            await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
            await page.get_by_role("button", name=f"Lift suspicion: {clients[0].id}").click()
            await expect(row).not_to_contain_text("in quarantine")
            (told, *_), _ = await play(clients, {})
            assert isinstance(told, Accepted)
            assert told.counted
        assert complaints == []
