"""Browsers and peers learn the digits together, and the server sees no update of any of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.async_api import Browser, Page, expect

from backend.numerics.aggregation.server_optimizers import fedavg, no_state
from backend.numerics.aggregation.weighted_mean import WeightedMean
from backend.numerics.masking.encoding import Encoding, error
from backend.numerics.masking.sparse import chosen_values
from tests.e2e.pages.conftest import listen
from tests.e2e.pages.joint_training import update_witness as page_witness
from tests.support.peer import update_witness
from tests.support.peer.peer_process import joined
from tests.support.peer.transcript import Transcript, recorded
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

BROWSERS, PEERS, ROUNDS, ROWS = 2, 3, 8, 1
# What everybody's updates are clipped to, and two epochs of four shards: the examples of a weight of 1.
CLIP, FULL = 20.0, 800
SETTINGS = {
    "coordination.min_available_clients": str(BROWSERS + PEERS),
    "coordination.gather": "30",
    # A busy machine loses nobody.
    "coordination.deadline": "300",
    "coordination.adaptive_deadline": "false",
    "coordination.quorum": "4",
    "coordination.rounds": str(ROUNDS),
    "security.aggregation": '["masked"]',
    "security.masking.min_clients": "4",
    "security.masking.clip": str(CLIP),
    "security.masking.examples": str(FULL),
}


# Two browsers and a peer, in rounds of a quarter of the parameters.
FEW = {
    "coordination.min_available_clients": "3",
    "coordination.quorum": "3",
    "coordination.rounds": "10",
    "security.masking.min_clients": "3",
    "security.masking.share": "0.25",
}


def serving(models: Path, data: Path, settings: dict[str, str]) -> AbstractContextManager[Server]:
    flags = [word for key, value in settings.items() for word in ("--set", f"digits.{key}={value}")]
    return running(models / "digits", data, *flags)


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    with serving(models, tmp_path / "data", SETTINGS) as server:
        yield server


async def start(page: Page, url: str, least: str) -> None:
    """Begins to train, on the condition of being masked among so many."""
    await page.goto(f"{url}/tasks/digits/train?backend=wasm")
    await page.get_by_text("Advanced: your own conditions").click()
    await page.locator("[data-minimum]").fill(least)
    await page.locator("[data-action=start]").click()


@pytest.mark.long
async def test_two_browsers_and_three_peers_learn_digits_from_sums_alone(
    browser: Browser, server: Server, tmp_path: Path
) -> None:
    pages = [await (await browser.new_context()).new_page() for _ in range(BROWSERS)]
    complaints = [listen(page) for page in pages]
    homes = [tmp_path / f"home-{n}" for n in range(PEERS)]
    async with recorded(server.url) as transcript:
        with ExitStack() as stack:
            for home in homes:
                stack.enter_context(joined(home, transcript.url, witness=home))
            for page, least in zip(pages, ("", "4"), strict=True):
                await page_witness.watch(page)
                await start(page, transcript.url, least)
            seen = pages[0].locator("[data-seen-line]")
            await expect(seen).to_contain_text("Masked among 5")
            await expect(pages[0].locator("[data-seen-roster]")).to_contain_text("The server says who")
            for page in pages:
                status = page.locator("[data-status-line]")
                await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
    assert complaints == [[], []]
    versions = server.measured_versions("digits")
    assert len(versions) == ROUNDS + 1
    assert max(one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]) >= 0.94
    rows = server.get("/api/tasks/digits/contributions")["contributions"]
    assert sorted(row["kind"] for row in rows) == ["browser"] * BROWSERS + ["peer"] * PEERS
    assert all(row["accepted"] > 0 and row["examples"] == 0 for row in rows)
    versions.sort(key=version_number)
    before, after = (weights_of(server, one["weights"]) for one in versions[:2])
    assert_nothing_shows(transcript, after - before)
    trained = [one for page in pages for one in await page_witness.witnessed(page)]
    trained += [one for home in homes for one in update_witness.witnessed(home)]
    compared = 0
    for base, made in pairwise(versions):
        updates = [one for one in trained if one.weights == base["weights"]]
        if made["accepted"] == len(updates) == BROWSERS + PEERS:
            assert made["examples"] == sum(one.examples for one in updates)
            step = [weights_of(server, one["weights"]) for one in (base, made)]
            assert_is_the_plain_sum(step[0], step[1], updates)
            compared += 1
    # A round that a slow machine's client missed is not all of these updates.
    assert compared > ROUNDS / 2


@pytest.mark.long
async def test_browsers_and_a_peer_send_the_same_share_of_the_parameters(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    pages = [await (await browser.new_context()).new_page() for _ in range(BROWSERS)]
    complaints = [listen(page) for page in pages]
    with (
        serving(models, tmp_path / "data", SETTINGS | FEW) as server,
        joined(tmp_path / "home", server.url),
    ):
        for page in pages:
            await start(page, server.url, "")
        for page in pages:
            status = page.locator("[data-status-line]")
            await expect(status).to_have_text("The model is trained", timeout=1000 * LONG)
        found = sorted(server.measured_versions("digits"), key=version_number)
        made = [weights_of(server, one["weights"]) for one in found]
        rounds = server.get("/api/tasks/digits/rounds")["rounds"]
    assert complaints == [[], []]
    assert [one["accepted"] for one in rounds] == [BROWSERS + 1] * 10
    sent = [after != before for before, after in pairwise(made)]
    assert all(0 < one.sum() <= chosen_values(one.size, 0.25) for one in sent)
    # With a share that is drawn anew nearly everything had its turn.
    assert np.logical_or.reduce(sent).mean() > 0.8
    # Had one of them sent other values, nothing would have been learned.
    assert max(one["evaluation"]["metrics"]["accuracy"] for one in found if one["evaluation"]) >= 0.8


def assert_is_the_plain_sum(
    before: NDArray[np.float32], after: NDArray[np.float32], updates: list[update_witness.Plain]
) -> None:
    """`after` is what the server makes of `updates` in the open, but for what masking may change."""
    assert max(np.linalg.norm(one.update.astype(np.float64)) for one in updates) < CLIP
    encoding = Encoding(len(updates), before.size, ROWS, 32, CLIP)
    bound = error(encoding, len(updates), sum(one.examples for one in updates) / FULL)
    mean, made = in_the_open(before, updates)
    # The mean and either version are float32, which the bound leaves out.
    rounding = np.spacing(np.abs(after)) + np.spacing(np.abs(mean).astype(np.float32)) / 2
    off = after.astype(np.float64) - made
    assert (np.abs(off) <= bound.worst + rounding).all()
    assert off.std() <= 1.5 * bound.deviation + rounding.mean()
    for one in updates:
        _, without = in_the_open(before, [other for other in updates if other is not one])
        assert np.abs(after - without).max() > 1000 * bound.worst, "each of them is in it"


def in_the_open(
    before: NDArray[np.float32], updates: list[update_witness.Plain]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """The mean of `updates`, and the version that an open round makes of them."""
    mean = WeightedMean(before.size)
    for one in updates:
        mean.add(one.update, one.examples)
    return mean.mean(), fedavg()(before, mean.mean(), no_state(), before.size)[0]


def version_number(version: dict[str, Any]) -> int:
    return int(version["version"])


def weights_of(server: Server, address: str) -> NDArray[np.float32]:
    with urlopen(f"{server.url}/blobs/{address}") as answer:
        return np.frombuffer(answer.read(), "<f4")


def assert_nothing_shows(transcript: Transcript, mean: NDArray[np.float32]) -> None:
    """No vector that came in the first round looks like anything, least of all like their mean."""
    vectors = transcript.vectors(1)
    assert len(vectors) == BROWSERS + PEERS
    for data in vectors.values():
        assert len(data) == 4 * (mean.size + 3 + 2 * ROWS)
        words = np.frombuffer(data, "<u4")
        counts = np.bincount(np.frombuffer(data, np.uint8), minlength=256)
        # Chi-square with 255 degrees of freedom is beyond 400 once in 10^7.
        assert ((counts - len(data) / 256) ** 2).sum() / (len(data) / 256) < 400
        likeness = np.corrcoef(words[: mean.size].view(np.int32).astype(np.float64), mean)[0, 1]
        assert abs(likeness) < 0.1
