"""An owner sees how many participants of masked groups may lie, before and in a round."""

from __future__ import annotations

import asyncio
from pathlib import Path

from playwright.async_api import Browser, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.attacks.masked_groups import grouped_server
from tests.support.browser.axe import findings
from tests.support.masking.known_update_peers import volunteer
from tests.support.masking.masked_task import tokens
from tests.support.tasks.tiny_task import SIZE
from tests.support.timeouts import PATIENCE
from tests.support.web.visitors import operator

MORE = 10


async def test_what_the_settings_bear_counts_the_clients_and_groups_of_the_round(
    tmp_path: Path, browser: Browser
) -> None:
    with grouped_server(tmp_path, 10, 3, "median", 1, more=MORE) as server:
        owner = operator(server)
        context = await browser.new_context(viewport={"width": 360, "height": 740})
        await sign_in(context, owner)
        page = await context.new_page()
        complaints = listen(page)
        await page.goto(f"http://{owner.host}/tasks/tiny/manage")
        part = page.locator("[data-suspects]")
        await expect(part).to_contain_text("bear 1 of 10 participants that lie, whatever groups they are in")
        await expect(part).to_contain_text("the sums of 1 of the 3 masked groups may be false (median)")
        sessions = [volunteer(server.url, token, SIZE + MORE) for token in tokens(10)]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*(one.run(asyncio.Event()) for one in sessions))
        await expect(part).to_contain_text("of the 3 masked groups may be false (median)")
        await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
        assert await findings(page) == []
        assert complaints == []
