"""Browsers and Python peers check each other's work and means, and end each round with the same bits."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.pages.conftest import listen
from tests.support.peer.byzantine_company import ByzantineCompany, averaged, same_bits
from tests.support.timeouts import LONG, PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

# What a page holds after each round, as it comes about.
RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  const note = () => { if (root.dataset.holds) window.held[root.dataset.round] = root.dataset.holds; };
  new MutationObserver(note).observe(root, { attributes: true });
}"""

# Fetches files of the server, which the browser caches.
FETCH = "(files) => Promise.all(files.map(async (one) => (await fetch(`/blobs/${one}`)).arrayBuffer()))"

# Turns the sign of all updates that a page's workers make.
LIE = """
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => {
      if (data?.type !== "trained") return;
      const update = new Float32Array(data.update);
      for (const at of update.keys()) update[at] = -update[at];
    });
  }
};"""


@pytest.fixture
def company(models: Path, tmp_path: Path) -> Iterator[ByzantineCompany]:
    with ExitStack() as stack:
        yield ByzantineCompany(stack, tmp_path, models / "digits")


async def open_page(browser: Browser, company: ByzantineCompany, backend: str) -> Page:
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{company.server.url}/tasks/digits/train?backend={backend}")
    await page.evaluate(RECORD)
    return page


# WebGL without a graphics card takes seconds for a step.
@pytest.mark.parametrize(
    ("backends", "rounds", "patience"), [(("wasm", "cpu"), 12, 10.0), (("webgl", "wasm"), 6, 60.0)]
)
async def test_two_pages_and_two_peers_validate_each_other_and_end_each_round_with_the_same_bits(
    browser: Browser,
    company: ByzantineCompany,
    backends: tuple[str, str],
    rounds: int,
    patience: float,
) -> None:
    company.serve(rounds=rounds, min_available_clients=4, averaging={"patience": patience}, deadline=300)
    pages = [await open_page(browser, company, backend) for backend in backends]
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
    assert sorted(recorded) == list(range(1, rounds + 1))
    for page in pages:
        held: dict[str, Any] = await page.evaluate("window.held")
        assert {number: held.get(str(number)) for number in recorded} == recorded
    state = company.state(1)
    assert len(state.membership.seats) == 4
    assert not state.membership.banned
    assert complaints == [[]] * len(pages)
    checked = sum(one["event"] == "checking" for peer in peers for one in peer.seen)
    for page in pages:
        root = page.locator("[data-train]")
        found = json.loads(await root.get_attribute("data-findings") or "[]")
        assert len(found) == int(await root.get_attribute("data-checked") or 0)
        # WebGL is now and then a little farther away than is allowed: doubtful, which accuses nobody.
        assert all(one["found"] in ("same", "doubtful") and one["distance"] < 0.07 for one in found)
        checked += len(found)
    # One in each round after the first.
    assert checked == rounds - 1
    ended = company.server.get("/api/tasks/digits/rounds")["rounds"]
    assert [one["accepted"] for one in ended] == [4] * rounds


# Without an honest peer only pages make evidence.
@pytest.mark.parametrize("honest_peers", [1, 0])
async def test_pages_ban_a_peer_that_flips_the_sign_of_its_work_and_go_on_with_the_same_bits(
    browser: Browser, company: ByzantineCompany, honest_peers: int
) -> None:
    # Nobody waits for the banned one, not even once.
    patience = 300.0
    company.serve(rounds=40, min_available_clients=4, averaging={"patience": patience})
    pages = [await open_page(browser, company, "wasm") for _ in range(3 - honest_peers)]
    peers = [company.join(transport="webrtc") for _ in range(honest_peers)]
    company.join("sign", transport="webrtc")
    for page in pages:
        await page.locator("[data-action=start]").click()
    for page in pages:
        status = page.locator("[data-status-line]")
        await expect(status).to_have_text("The model is trained", timeout=1000 * patience)
        hint = page.locator("[data-status-hint]")
        await expect(hint).to_contain_text("1 participant is banned")
        await expect(hint).to_contain_text("keeps evidence against 1 of them")
    held: list[dict[str, Any]] = [await page.evaluate("window.held") for page in pages]
    assert len({one["40"] for one in held}) == 1
    for peer in peers:
        peer.expect("finished", LONG)
        recorded = same_bits([peer])
        assert all({number: one.get(str(number)) for number in recorded} == recorded for one in held)
        membership = company.state(1).membership
        assert len(membership.banned) == 1
        assert len(membership.seats) == 3


async def test_a_page_that_lies_is_told_that_the_others_banned_it(
    browser: Browser, company: ByzantineCompany
) -> None:
    company.serve(rounds=40, min_available_clients=4, averaging={"patience": 10.0})
    peers = [company.join(transport="webrtc") for _ in range(3)]
    context = await browser.new_context(locale="es")
    await context.add_init_script(LIE)
    page = await context.new_page()
    await page.goto(f"{company.server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    for peer in peers:
        peer.expect("banned", LONG)
    training = page.locator("[data-train]")
    await expect(training).to_contain_text("lo excluyeron de esta tarea", timeout=1000 * PATIENCE)
    await expect(training).not_to_contain_text("El dueño")
    for peer in peers:
        peer.expect("finished", LONG)


async def test_a_page_that_comes_later_earns_a_seat_and_takes_its_state_up_again_when_it_is_reloaded(
    browser: Browser, company: ByzantineCompany
) -> None:
    company.serve(
        byzantine={"probation": 25, "audits": 0},
        rounds=200,
        min_available_clients=3,
        averaging={"patience": 4.0},
    )
    peers = [company.join(transport="webrtc") for _ in range(3)]
    averaged(peers[0], LONG)
    page = await open_page(browser, company, "wasm")
    await page.locator("[data-action=start]").click()
    hint = page.locator("[data-status-hint]")
    await expect(hint).to_contain_text("on probation", timeout=1000 * LONG)
    await expect(hint).to_contain_text("has a seat", timeout=1000 * LONG)
    await page.reload()
    await page.evaluate(RECORD)
    await page.locator("[data-action=start]").click()
    await expect(hint).to_contain_text("has a seat", timeout=1000 * LONG)
    status = page.locator("[data-status-line]")
    await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
    for peer in peers:
        peer.expect("finished", LONG)
    recorded = same_bits(peers)
    held: dict[str, Any] = await page.evaluate("window.held")
    assert held["200"] == recorded[200]
    membership = company.state(1).membership
    assert len(membership.seats) == 4
    assert not membership.banned


# A stopped server is like one without power: its sockets stay open, and nothing answers.
@pytest.mark.parametrize(
    ("givers", "end"), [("peers", signal.SIGKILL), ("pages", signal.SIGKILL), ("peers", signal.SIGSTOP)]
)
async def test_members_hand_each_other_examples_when_their_server_is_gone(
    browser: Browser, company: ByzantineCompany, givers: str, end: signal.Signals
) -> None:
    company.serve(rounds=100_000, min_available_clients=4, averaging={"patience": 5.0}, deadline=300)
    pages = [await open_page(browser, company, "wasm") for _ in range(2)]
    if givers == "peers":
        company.give_data(1)
    else:
        await pages[0].evaluate(FETCH, company.shards())
    peers = [company.join(transport="webrtc") for _ in range(2)]
    for page in pages:
        await page.locator("[data-action=start]").click()
    last = averaged(peers[0], LONG, survivors=4)["round"]
    company.server.process.send_signal(end)
    # By then somebody was drawn for examples that it had not fetched, but for a chance of one in millions.
    for peer in peers:
        while averaged(peer, LONG, survivors=4)["round"] < last + 12:
            pass
    for peer in peers:
        peer.stop()
    assert not any(one["event"] == "unable" for peer in peers for one in peer.seen)
    recorded = same_bits(peers)
    for page in pages:
        held: dict[str, Any] = await page.evaluate("window.held")
        assert all(held.get(str(number), recorded[number]) == recorded[number] for number in recorded)
        assert len(held) >= 10
    state = company.state(1)
    assert len(state.membership.seats) == 4
    assert not state.unable
    company.server.stop(signal.SIGKILL)


async def test_a_page_whose_examples_do_not_arrive_while_it_checks_says_so_and_is_not_drawn_again(
    browser: Browser, company: ByzantineCompany
) -> None:
    company.serve(rounds=100_000, min_available_clients=3, averaging={"patience": 20.0}, deadline=300)
    peers = [company.join(transport="webrtc") for _ in range(2)]
    page = await open_page(browser, company, "wasm")
    status, hint = page.locator("[data-status-line]"), page.locator("[data-status-hint]")

    async def lose(route: Route) -> None:
        # The page shows what it does a moment after it began.
        await page.evaluate("() => new Promise((resolve) => setTimeout(resolve, 500))")
        checks = "Checking the work of" in await status.inner_text()
        await (route.abort() if checks else route.continue_())

    await page.context.route("**/blobs/*", lose)
    await page.locator("[data-action=start]").click()
    await expect(hint).to_contain_text("could not check another participant's work", timeout=1000 * LONG)
    checked = await page.locator("[data-train]").get_attribute("data-checked")
    for _ in range(4):
        peers[0].expect("averaged", LONG)
    assert await page.locator("[data-train]").get_attribute("data-checked") == checked
    for peer in peers:
        peer.stop()
    same_bits(peers)
    state = company.state(1)
    assert len(state.unable) == 1
    assert len(state.membership.seats) == 3
    assert not state.membership.banned
