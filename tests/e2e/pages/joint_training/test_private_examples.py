"""Peers and a browser with files of their own train one model under privacy of examples."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.async_api import Page, expect

from backend.server.privacy.epsilon import gaussian_epsilon
from backend.stores.embedded import open_stores
from tests.support.peer.peer_process import joined
from tests.support.tasks.shapes_task import draw_shapes, write_shapes
from tests.support.tasks.task_build import built
from tests.support.timeouts import LONG
from tests.support.web.server_process import running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

CLIP, NOISE, ROUNDS, RATE = 0.01, 8.0, 2, 0.1
PRIVACY = f"""
[privacy]
mechanism = "examples"
clip = {CLIP}
noise_multiplier = {NOISE}
"""


def private_shapes(folder: Path) -> Path:
    """The how-to's task with privacy of examples, plain gradient descent, and slices of one row; built."""
    write_shapes(folder)
    task, build = folder / "task.toml", folder / "build.py"
    sliced = task.read_text("utf-8").replace("batch_size = 16", "batch_size = 16\nslice = 1")
    task.write_text(sliced + PRIVACY, "utf-8")
    build.write_text(build.read_text("utf-8").replace("Adam(0.003)", f"SGD({RATE})"), "utf-8")
    return built(folder)


async def weights(data: Path) -> list[Any]:
    stores = open_stores(data)
    try:
        found = await stores.records.versions(1)
        return [np.frombuffer(await stores.blobs.read(one.weights), "<f4") for one in found]
    finally:
        await stores.close()


async def test_peers_and_a_browser_clip_and_noise_their_own_examples_and_say_nothing_else_of_them(
    page: Page, tmp_path: Path
) -> None:
    folders = [
        draw_shapes(tmp_path / f"mine-{seed}", seed, {"circle": 15, "square": 15}) for seed in (1, 2, 3)
    ]
    settings = [f"rounds={ROUNDS}", "min_available_clients=3", "quorum=3", "gather=20"]
    settings += ["deadline=300", "adaptive_deadline=false"]
    flags = [word for one in settings for word in ("--set", f"shapes.coordination.{one}")]
    tasks = await asyncio.to_thread(private_shapes, tmp_path / "shapes")
    with running(tasks, tmp_path / "data", *flags) as server:
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
        given = server.get("/api/tasks/shapes/contributions")["contributions"]
        assert sorted(one["kind"] for one in given) == ["browser", "peer", "peer"]
        assert all((one["accepted"], one["examples"]) == (ROUNDS, 0) for one in given)
        told = server.get("/api/tasks/shapes")["privacy"]
        learnt = server.get("/api/tasks/shapes/disclosure")
        # Before the server ends, which the page would complain of.
        await page.goto("about:blank")
    # The how-to's two epochs are two visits to an example in each round.
    assert (told["unit"], told["taken"]) == ("example", ROUNDS)
    assert told["epsilon"] == pytest.approx(gaussian_epsilon(NOISE / (2 * ROUNDS) ** 0.5, 1e-5))
    assert f"epsilon {told['epsilon']:.3g}" in " ".join(learnt["server"])
    start, *versions = await weights(tmp_path / "data")
    for before, after in zip([start, *versions], versions, strict=False):
        deviations(after - before)


def deviations(moved: Any) -> None:
    """Mean of three updates of 2 x 2 steps: clipped gradients are small beside their noise."""
    steps, batch, clients = 4, 16, 3
    noise = RATE * CLIP * NOISE * steps**0.5 / batch / clients**0.5
    signal = RATE * CLIP * steps / len(moved) ** 0.5
    assert noise * 0.9 < moved.std() < 1.1 * (noise**2 + signal**2) ** 0.5
