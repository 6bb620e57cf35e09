"""Browsers and a Python peer mask what they send each other, and end with the same bits."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages.conftest import listen
from tests.e2e.pages.joint_training.test_mesh import averaged, open_page
from tests.support.peer.digits_mesh import write_digits
from tests.support.peer.peer_process import joined
from tests.support.timeouts import LONG
from tests.support.web.server_process import running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

PAGES, ROUNDS = 2, 3
# Nobody is gone on without, so that what all have can be compared.
COORDINATION = {"rounds": ROUNDS, "deadline": 300}
AVERAGING = {"patience": 60.0}


async def test_two_browsers_and_a_peer_average_masked_pieces_and_end_each_round_with_the_same_bits(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "tasks" / "digits"
    file = write_digits(models / "digits", folder, AVERAGING, masked=True, **COORDINATION) / "task.toml"
    file.write_text(file.read_text("utf-8").replace("epochs = 2", "steps = 8"), "utf-8")
    with running(tmp_path / "tasks", tmp_path / "data") as server, ExitStack() as stack:
        pages = [await open_page(browser, server, "wasm") for _ in range(PAGES)]
        complaints = [listen(page) for page in pages]
        for page in pages:
            await expect(page.locator("main")).to_contain_text("Your update is masked on your device")
        peer = stack.enter_context(joined(tmp_path / "home", server.url, "--transport", "webrtc"))
        for page in pages:
            await page.locator("[data-action=start]").click()
        for page in pages:
            status = page.locator("[data-status-line]")
            await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
        held = [await page.evaluate("window.held") for page in pages]
        held.append(averaged(peer))
        versions = server.get("/api/tasks/digits/versions")["versions"]
        rounds = server.get("/api/tasks/digits/rounds")["rounds"]
    assert complaints == [[]] * PAGES
    assert [one["accepted"] for one in rounds] == [PAGES + 1] * ROUNDS
    recorded = {str(one["round"]): one["weights"] for one in versions if one["version"] > 0}
    assert len(set(recorded.values())) == ROUNDS
    for mine in held:
        assert {number: mine.get(number) for number in recorded} == recorded
    losses = [one["evaluation"]["loss"] for one in versions if one["evaluation"]]
    assert losses[-1] < losses[0]
