"""Takes pictures of a training: the volunteer's page, the peer's output and the owner's dashboard."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

from playwright.async_api import Page, expect

from scripts.screenshots.camera import Camera
from tests.support.timeouts import PATIENCE

ROOT = Path(__file__).parents[2]
# The address in the documentation, instead of the temporary one.
ADDRESS = "https://minga.example.org"
VERSIONS = 12
TRAINS = re.compile(r"Training, round \d|Step \d+ of \d")
TRIES = 10


async def take_training(camera: Camera, folder: Path) -> None:
    """Has a browser and a peer train until there are some versions, and takes the pictures meanwhile."""
    dashboard = await camera.open("/tasks/digits/manage", signed_in=True, height=1150)
    volunteer = await camera.open("/tasks/digits/train")
    await volunteer.locator("[data-action=start]").click()
    peer = await start_peer(camera.url, folder)
    try:
        await reached_version(volunteer, VERSIONS)
        # Rounds are short: the picture shall show one while it trains.
        for _ in range(TRIES):
            await expect(volunteer.locator("main")).to_contain_text(TRAINS)
            await camera.save(volunteer, "train-desktop-light")
            if TRAINS.search(await volunteer.locator("main").inner_text()):
                break
        await expect(dashboard.locator("[data-participants] tr")).to_have_count(2)
        await camera.save(dashboard, "dashboard")
    finally:
        peer.send_signal(signal.SIGTERM)
        output = (await peer.communicate())[0].decode("utf-8")
    await camera.save_terminal(
        f"minga peer join {ADDRESS} --task digits", shortened(output.replace(camera.url, ADDRESS)), "peer"
    )
    await volunteer.context.close()
    await dashboard.context.close()


async def start_peer(url: str, folder: Path) -> asyncio.subprocess.Process:
    """Starts `minga peer join` for the task."""
    words = ["peer", "join", url, "--task", "digits", "--device", "cpu", "--cache-dir", str(folder / "cache")]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "backend", *words),
        cwd=ROOT,
        env={**os.environ, "HOME": str(folder)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )


async def reached_version(page: Page, version: int) -> None:
    """Waits until the task has that version of the model, or a later one, and it was measured."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await (await page.request.get("/api/tasks/digits/versions")).json()
            newest = max(answer["versions"], key=lambda one: int(one["version"]))
            if newest["version"] >= version and newest["evaluation"] is not None:
                return
            await asyncio.sleep(0.2)


def shortened(output: str, beginning: int = 11, end: int = 2) -> str:
    """Returns the first and the last lines, with dots between them."""
    lines = output.rstrip().splitlines()
    if len(lines) <= beginning + end:
        return "\n".join(lines)
    return "\n".join([*lines[:beginning], "...", *lines[-end:]])
