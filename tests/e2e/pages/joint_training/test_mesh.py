"""Browsers and Python peers learn the digits together, and no server adds anything up."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen
from tests.support.peer.digits_mesh import write_digits
from tests.support.peer.peer_process import Peer, joined
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

BACKENDS = ("webgl", "wasm", "wasm")
PEERS, ROUNDS = 2, 8
EVERYBODY = len(BACKENDS) + PEERS
# WebGL without a graphics card takes seconds for a step: few steps a round, and nobody is gone on without.
SETTINGS = {
    "coordination.min_available_clients": str(EVERYBODY),
    "coordination.deadline": "300",
    "coordination.adaptive_deadline": "false",
    "coordination.averaging.patience": "60.0",
}
# What a page holds after each round, as it comes about.
RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  const note = () => { if (root.dataset.holds) window.held[root.dataset.round] = root.dataset.holds; };
  new MutationObserver(note).observe(root, { attributes: true });
}"""


async def open_page(browser: Browser, server: Server, backend: str) -> Page:
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{server.url}/tasks/digits/train?backend={backend}")
    await page.evaluate(RECORD)
    return page


async def test_three_browsers_and_two_peers_learn_digits_and_end_each_round_with_the_same_bits(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    file = write_digits(models / "digits", tmp_path / "tasks" / "digits", rounds=ROUNDS) / "task.toml"
    file.write_text(file.read_text("utf-8").replace("epochs = 2", "steps = 8"), "utf-8")
    flags = [word for key, value in SETTINGS.items() for word in ("--set", f"digits.{key}={value}")]
    with running(tmp_path / "tasks", tmp_path / "data", *flags) as server, ExitStack() as stack:
        pages = [await open_page(browser, server, backend) for backend in BACKENDS]
        complaints = [listen(page) for page in pages]
        peers = [
            stack.enter_context(joined(tmp_path / f"home-{n}", server.url, "--transport", "webrtc"))
            for n in range(PEERS)
        ]
        for page in pages:
            await page.locator("[data-action=start]").click()
        for page in pages:
            direct = page.locator("[data-links] [data-way=webrtc]")
            await expect(direct).to_have_count(EVERYBODY - 1, timeout=1000 * LONG)
        for page in pages:
            status = page.locator("[data-status-line]")
            await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
        held = [await page.evaluate("window.held") for page in pages]
        versions = server.get("/api/tasks/digits/versions")["versions"]
        rounds = server.get("/api/tasks/digits/rounds")["rounds"]
        held += [averaged(peer) for peer in peers]
    assert complaints == [[]] * len(pages)
    assert [one["accepted"] for one in rounds] == [EVERYBODY] * ROUNDS
    recorded = {str(one["round"]): one["weights"] for one in versions if one["version"] > 0}
    assert len(recorded) == ROUNDS
    for mine in held:
        assert {number: mine.get(number) for number in recorded} == recorded
    assert best_accuracy(versions) >= 0.95


def averaged(peer: Peer) -> dict[str, str]:
    """The weights that a peer reported after each round."""
    while not any(one["event"] == "finished" for one in peer.seen):
        peer.expect("finished")
    return {str(one["round"]): one["weights"] for one in peer.seen if one["event"] == "averaged"}


def best_accuracy(versions: list[dict[str, Any]]) -> float:
    return max(float(one["evaluation"]["metrics"]["accuracy"]) for one in versions if one["evaluation"])
