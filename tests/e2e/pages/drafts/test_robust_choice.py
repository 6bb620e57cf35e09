"""The wizard's choice of a robust rule, or of masked groups, for the participants that an owner expects."""

from __future__ import annotations

import tomllib
from typing import Any

from playwright.async_api import Page, expect

from tests.support.browser.axe import findings
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor

EXPECTED = "Expected participants in a round"
PROPOSED = "Trimmed mean of mixed neighbours (proposed)"


async def opened(page: Page, server: Server, ann: Visitor, name: str) -> str:
    """Opens the protection of a new draft with the digits' model and shards, and returns its id."""
    draft = str(ann.ask("POST", "/api/tasks/digits/clone", {"name": name})["id"])
    await page.goto(f"{server.url}/drafts/{draft}/privacy")
    await expect(page.locator("[data-robust]")).to_be_visible()
    return draft


async def tables(page: Page, ann: Visitor, draft: str) -> dict[str, Any]:
    """Its task.toml, after all changes are saved."""
    await expect(page.locator("[data-saved]")).to_contain_text("Saved")
    return tomllib.loads(ann.ask("GET", f"/api/drafts/{draft}/task.toml"))


async def test_an_owner_takes_the_rule_that_is_proposed_for_the_expected_participants(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = await opened(page, server, ann, "rules")
    part = page.locator("[data-robust]")
    await page.get_by_label(EXPECTED).fill("4")
    await expect(part).to_contain_text("No rule is proposed for 4 participants in a round")
    await page.get_by_label(EXPECTED).fill("10")
    await expect(part).to_contain_text("2 of 10 participants may lie. A version needs at least 5 updates.")
    await expect(part).to_contain_text("A round takes this server less than 0.01 s of processor time.")
    await expect(page.get_by_label("Participants that may lie")).to_be_hidden()
    await page.get_by_label(PROPOSED).check()
    await expect(page.get_by_label("Participants that may lie")).to_have_value("2")
    await expect(page.locator("[data-reader='server']")).to_contain_text("compares the updates of a round")
    found = await tables(page, ann, draft)
    assert found["security"]["robust"] == {
        "rule": "trimmed-mean",
        "attackers": 2,
        "before": ["distinct", "nnm"],
    }
    assert (found["coordination"]["min_available_clients"], found["coordination"]["quorum"]) == (5, 5)
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    await page.get_by_label("Participants that may lie").fill("3")
    await expect(page.locator("[data-unsound]")).to_contain_text("needs at least 7 updates to bear")


async def test_an_owner_chooses_masked_groups_by_what_they_hide_and_bear(
    page: Page, server: Server, ann: Visitor
) -> None:
    draft = await opened(page, server, ann, "groups")
    part = page.locator("[data-robust]")
    await page.get_by_label("Masked: only sums are seen").check()
    await page.get_by_label(EXPECTED).fill("8")
    await expect(part).to_contain_text("That needs 9 participants in a round, and 8 are expected.")
    await page.get_by_label(EXPECTED).fill("40")
    await expect(part).to_contain_text("that is for you to choose")
    five = page.locator("[data-option='robust groups-5-2']")
    await expect(five).to_contain_text("5 groups of about 8")
    await expect(five).to_contain_text("hidden among at least 6. 2 of 40 participants may lie")
    await five.get_by_role("radio").check()
    await expect(page.locator("[data-reader='server']")).to_contain_text("into groups by lot")
    found = await tables(page, ann, draft)
    assert found["security"]["robust"] == {"rule": "trimmed-mean", "attackers": 2, "groups": 5}
    assert found["security"]["masking"]["min_clients"] == 6
    assert (found["coordination"]["min_available_clients"], found["coordination"]["quorum"]) == (30, 30)
    assert await findings(page) == []
    await page.get_by_label("The server sees each update").check()
    await expect(page.get_by_label(PROPOSED)).to_be_enabled()
