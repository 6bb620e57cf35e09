"""Two browsers (WebAssembly, WebGL) and two peers train tasks of the gallery by work units to their target.

All kinds of devices check one another here: each unit is done by two of them, whose results are compared.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser

from tests.support.peer.peer_process import joined
from tests.support.tasks.gallery_units import write_gallery_units
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

BACKENDS = ("wasm", "webgl")
PEERS = 2


@dataclass(frozen=True)
class Variant:
    """A task, the examples of a unit, the share of held-out answers to get right, and in how many epochs."""

    task: str
    rows: int
    accuracy: float
    epochs: int


DIGITS, TEXT = Variant("digits", 100, 0.9, 1000), Variant("text-lstm", 96, 0.25, 1000)


@pytest.mark.parametrize("variant", [DIGITS, TEXT], ids=lambda variant: variant.task)
async def test_two_browsers_and_two_peers_reach_the_target_by_work_units(
    browser: Browser, models: Path, tmp_path: Path, variant: Variant
) -> None:
    folder = write_gallery_units(
        models / variant.task, tmp_path / "tasks" / variant.task, variant.rows, variant.epochs
    )
    faults: list[str] = []
    with running(folder, tmp_path / "data") as server, ExitStack() as stack:
        for backend in BACKENDS:
            page = await (await browser.new_context()).new_page()
            page.on("pageerror", lambda error: faults.append(str(error)))
            await page.goto(f"{server.url}/tasks/{variant.task}/train?backend={backend}")
            await page.locator("[data-action=start]").click()
        for number in range(PEERS):
            home = tmp_path / f"home-{number}"
            stack.enter_context(joined(home, f"{server.url}/tasks/{variant.task}"))
        async with asyncio.timeout(LONG):
            people, best = await all_took_part(server, variant)
        rounds = server.get(f"/api/tasks/{variant.task}/rounds")["rounds"]
    assert best >= variant.accuracy
    assert sorted((one["kind"], one["backend"]) for one in people) == [
        *(("browser", backend) for backend in sorted(BACKENDS)),
        *[("peer", "tensorflow-cpu")] * PEERS,
    ]
    # What differs from one device to the next is arithmetic, and nobody is taken for a cheat for it.
    assert [one["round"] for one in rounds if "invalid" in one["refusals"]] == []
    assert faults == []


async def all_took_part(server: Server, variant: Variant) -> tuple[list[dict[str, Any]], float]:
    """Who has results that held, as soon as all do and a version reaches the target; the best accuracy."""
    path, wanted = f"/api/tasks/{variant.task}", len(BACKENDS) + PEERS
    while True:
        people = (await asyncio.to_thread(server.get, f"{path}/contributions"))["contributions"]
        versions = (await asyncio.to_thread(server.get, f"{path}/versions"))["versions"]
        measured = [one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]]
        best = max(measured, default=0.0)
        if best >= variant.accuracy and sum(one["accepted"] > 0 for one in people) >= wanted:
            return people, best
        await asyncio.sleep(0.5)
