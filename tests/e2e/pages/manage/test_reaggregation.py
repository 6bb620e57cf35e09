"""An owner tries another rule on kept updates, and reads what it made of them beside what happened."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.attacks.kept_rounds import is_kept, keeping_task, play_rounds
from tests.support.browser.axe import findings
from tests.support.web.server_process import running
from tests.support.web.visitors import operator


@asynccontextmanager
async def dashboard(tmp_path: Path, browser: Browser) -> AsyncIterator[Page]:
    """Yields the dashboard of a task with two kept rounds, in which one client reversed its updates."""
    keeping_task(tmp_path / "tasks" / "tiny", rounds=2)
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        await sign_in(context, operator(server))
        page = await context.new_page()
        await page.goto(f"{server.url}/tasks/tiny/manage")
        await expect(page.locator("[data-kept]")).to_have_text("0 of at most 2 rounds are kept (0.0 MB).")
        await play_rounds(server, "tiny", 3)
        await is_kept(tmp_path / "data", "tiny", 3)
        yield page


async def test_an_owner_sees_what_another_rule_would_have_done(
    models: Path, tmp_path: Path, browser: Browser
) -> None:
    del models
    async with dashboard(tmp_path, browser) as page:
        complaints = listen(page)
        part = page.locator("[data-reaggregation]")
        await expect(part.locator("[data-reaggregation-result]")).to_be_hidden()
        await part.get_by_role("combobox", name="Rule").select_option("krum")
        await part.get_by_label("False updates to bear in each round").fill("2")
        await part.get_by_role("button", name="Try this rule").click()
        await expect(part.get_by_role("alert")).to_contain_text("Round 2 has 5 kept updates, of which krum")

        await part.get_by_role("combobox", name="Rule").select_option("multi-krum")
        await part.get_by_label("False updates to bear in each round").fill("1")
        await part.get_by_label("Mix similar updates before").check()
        await part.get_by_role("button", name="Try this rule").click()
        await expect(part.get_by_role("status")).to_have_text(
            "nnm + multi-krum, made for 1 false update in a round:"
        )
        rows = part.locator("tbody tr")
        await expect(rows).to_have_count(2)
        await expect(rows.first.locator("th")).to_have_text("2")
        await expect(part).to_contain_text("Only the first of these rounds is exact.")
        await expect(part).to_contain_text("Versions of this task are not measured")
        await expect(part.get_by_role("button", name="Try this rule")).to_be_enabled()
        await expect(part.get_by_role("button", name="Cancel")).to_be_hidden()
        assert await findings(page) == []
        await page.set_viewport_size({"width": 360, "height": 740})
        await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
        assert [one for one in complaints if "400" not in one] == []
