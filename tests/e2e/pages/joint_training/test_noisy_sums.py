"""Browsers and a peer learn the digits from sums that carry shares of noise from all of them."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from backend.server.privacy.epsilon import gaussian_epsilon
from tests.e2e.pages.conftest import listen
from tests.e2e.pages.joint_training.test_masked_rounds import serving, start, version_number, weights_of
from tests.support.peer.peer_process import joined
from tests.support.timeouts import LONG

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

BROWSERS, CLIENTS = 2, 3
CLIP, NOISE, BUDGET, DELTA = 0.3, 0.3, 90.0, 1e-5
SETTINGS = {
    "coordination.min_available_clients": str(CLIENTS),
    "coordination.quorum": str(CLIENTS),
    # A busy machine loses nobody.
    "coordination.deadline": "300",
    "coordination.adaptive_deadline": "false",
    "security.aggregation": '["masked"]',
    "security.masking.min_clients": str(CLIENTS),
    "privacy.mechanism": '"distributed"',
    "privacy.clip": str(CLIP),
    "privacy.noise_multiplier": str(NOISE),
    "privacy.epsilon": str(BUDGET),
    "privacy.delta": str(DELTA),
}


async def test_browsers_and_a_peer_learn_digits_under_noise_that_they_share_until_the_budget_is_spent(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    pages = [await (await browser.new_context()).new_page() for _ in range(BROWSERS)]
    complaints = [listen(page) for page in pages]
    with (
        serving(models, tmp_path / "data", SETTINGS) as server,
        joined(tmp_path / "home", f"{server.url}/tasks/digits") as peer,
    ):
        for page in pages:
            await start(page, server.url, "")
        for page in pages:
            status = page.locator("[data-status-line]")
            await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
        await asyncio.to_thread(peer.expect, "finished")
        task = server.get("/api/tasks/digits")
        rows = server.get("/api/tasks/digits/contributions")["contributions"]
        rounds = server.get("/api/tasks/digits/rounds")["rounds"]
        made = sorted(server.measured_versions("digits"), key=version_number)
        vectors = [weights_of(server, one["weights"]) for one in made]
        (page, _) = pages
        await page.goto(f"{server.url}/tasks/digits")
        await expect(page.locator("[data-live=privacy]")).to_contain_text(f"{task['privacy']['epsilon']:.3g}")
        for page in pages:
            await page.goto("about:blank")
    assert complaints == [[]] * BROWSERS
    # As many rounds as the budget lasts, with everybody in each.
    told = task["privacy"]
    assert (told["mechanism"], told["unit"], told["budget"]) == ("distributed", "client", BUDGET)
    assert told["taken"] == told["most"] == len(rounds) == len(made) - 1
    assert [one["accepted"] for one in rounds] == [CLIENTS] * told["taken"]
    assert sorted(row["kind"] for row in rows) == ["browser"] * BROWSERS + ["peer"]
    assert all((row["accepted"], row["examples"]) == (told["taken"], 0) for row in rows)
    # Rounding to whole numbers costs a little; one round more would cost too much.
    plain = [gaussian_epsilon(NOISE / taken**0.5, DELTA) for taken in (told["taken"], told["taken"] + 1)]
    assert plain[0] < told["epsilon"] <= BUDGET < 1.2 * plain[1]
    # All three are needed to unmask, so that their shares make the noise and no more than that.
    claimed = CLIP * NOISE / CLIENTS
    size = vectors[0].size
    for before, after in pairwise(vectors):
        moved = (after - before).std()
        # Beside the noise an update, which is no longer than the clip, is small.
        assert claimed * (1 - 6 / (2 * size) ** 0.5) < moved
        assert moved < (claimed**2 + CLIP**2 / size) ** 0.5 * (1 + 6 / (2 * size) ** 0.5)
    assert all((one["loss"], one["examples"]) == (None, 0) for one in made[1:])
    # Each round's noise goes another way; what is learned goes the same way in all of them.
    losses = [one["evaluation"]["loss"] for one in made if one["evaluation"]]
    assert losses[-1] < 0.85 * losses[0]
