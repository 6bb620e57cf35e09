"""Browsers and Python peers check each other's work and means, and end each round with the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen
from tests.support.peer.byzantine_company import ByzantineCompany, same_bits
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

# What a page holds after each round, as it comes about.
RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  const note = () => { if (root.dataset.holds) window.held[root.dataset.round] = root.dataset.holds; };
  new MutationObserver(note).observe(root, { attributes: true });
}"""


@pytest.fixture
def company(models: Path, tmp_path: Path) -> Iterator[ByzantineCompany]:
    with ExitStack() as stack:
        yield ByzantineCompany(stack, tmp_path, models / "digits")


async def open_page(browser: Browser, company: ByzantineCompany, backend: str) -> Page:
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{company.server.url}/tasks/digits/train?backend={backend}")
    await page.evaluate(RECORD)
    return page


async def test_two_pages_and_two_peers_validate_each_other_and_end_each_round_with_the_same_bits(
    browser: Browser, company: ByzantineCompany
) -> None:
    company.serve(rounds=12, min_available_clients=4, averaging={"patience": 10.0})
    pages = [await open_page(browser, company, backend) for backend in ("wasm", "cpu")]
    complaints = [listen(page) for page in pages]
    peers = [company.join(transport="webrtc") for _ in range(2)]
    for page in pages:
        await page.locator("[data-action=start]").click()
    for page in pages:
        status = page.locator("[data-status-line]")
        await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
    for peer in peers:
        peer.expect("finished", LONG)
    recorded = same_bits(peers)
    assert sorted(recorded) == list(range(1, 13))
    for page in pages:
        held: dict[str, Any] = await page.evaluate("window.held")
        assert {number: held.get(str(number)) for number in recorded} == recorded
    state = company.state(1)
    assert len(state.membership.seats) == 4
    assert not state.membership.banned
    assert complaints == [[]] * len(pages)
    rounds = company.server.get("/api/tasks/digits/rounds")["rounds"]
    assert [one["accepted"] for one in rounds] == [4] * 12


async def test_pages_ban_a_peer_that_flips_the_sign_of_its_work_and_go_on_with_the_same_bits(
    browser: Browser, company: ByzantineCompany
) -> None:
    company.serve(rounds=40, min_available_clients=4, averaging={"patience": 4.0})
    pages = [await open_page(browser, company, "wasm") for _ in range(2)]
    peer = company.join(transport="webrtc")
    company.join("sign", transport="webrtc")
    for page in pages:
        await page.locator("[data-action=start]").click()
    for page in pages:
        status = page.locator("[data-status-line]")
        await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
    peer.expect("finished", LONG)
    recorded = same_bits([peer])
    for page in pages:
        held: dict[str, Any] = await page.evaluate("window.held")
        assert {number: held.get(str(number)) for number in recorded} == recorded
    membership = company.state(1).membership
    assert len(membership.banned) == 1
    assert len(membership.seats) == 3
