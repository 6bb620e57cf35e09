"""Peers with --data and a browser with chosen files train one model; nobody's files are at the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.support.peer.peer_process import joined
from tests.support.tasks.shapes_task import build_shapes, draw_shapes
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

SETTINGS = ("min_available_clients=3", "rounds=6", "gather=20", "deadline=300", "adaptive_deadline=false")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    flags = [word for one in SETTINGS for word in ("--set", f"shapes.coordination.{one}")]
    with running(build_shapes(tmp_path / "shapes"), tmp_path / "data", *flags) as server:
        yield server


async def test_peers_and_a_browser_learn_together_from_files_of_their_own(
    page: Page, server: Server, tmp_path: Path
) -> None:
    counts = {"circle": 15, "square": 15}
    folders = [draw_shapes(tmp_path / f"mine-{seed}", seed, counts) for seed in (1, 2, 3)]
    (folders[0] / "circle/broken.png").write_bytes(b"no picture")
    await page.goto(f"{server.url}/tasks/shapes/train?backend=wasm")
    await page.locator("[data-own-folder]").set_input_files(folders[2])
    await expect(page.locator("[data-own-line]")).to_contain_text("30 pictures ready")
    await page.locator("[data-action=start]").click()
    with (
        joined(tmp_path / "home-1", server.url, "--data", str(folders[0])) as first,
        joined(tmp_path / "home-2", server.url, "--data", str(folders[1])) as second,
    ):
        for peer in (first, second):
            await asyncio.to_thread(peer.expect, "finished", LONG)
            assert peer.end() == (0, "")
    (own,) = (news for news in first.seen if news["event"] == "own")
    assert (own["examples"], own["holdout"], own["broken"]) == (30, 6, 1)
    assert own["classes"] == counts
    contributions = server.get("/api/tasks/shapes/contributions")["contributions"]
    assert sorted(one["kind"] for one in contributions) == ["browser", "peer", "peer"]
    # Two epochs over the 24 that each trains on.
    assert all(one["examples"] == 48 * one["accepted"] > 0 for one in contributions)
    measured = [news for news in first.seen if news["event"] == "evaluated" and news["source"] == "clients"]
    assert measured
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    for path in (path for folder in folders for path in folder.rglob("mine-*.png")):
        assert path.read_bytes()[-40:-12] not in stored
