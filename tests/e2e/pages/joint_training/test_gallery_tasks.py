"""Two browsers and a peer train each own-data task of the gallery, on real data dropped onto the page."""

from __future__ import annotations

import asyncio
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import listen
from tests.support.peer.peer_process import joined
from tests.support.plugins.requirements import real_data
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]

PARTS = 3


@dataclass(frozen=True)
class Variant:
    """A gallery task made small: what each of three gets, how it is trained, and what it reaches at least."""

    task: str
    cut: Callable[[Path], list[Path]]
    ready: str
    settings: tuple[str, ...]
    rounds: int
    accuracy: float


def passengers(folder: Path) -> list[Path]:
    """The passenger list, dealt out as three CSV files."""
    head, *rows = real_data("titanic.csv").read_text("utf-8").splitlines(keepends=True)
    random.Random(1).shuffle(rows)
    paths = [folder / f"passengers-{part}.csv" for part in range(PARTS)]
    for part, path in enumerate(paths):
        path.write_text(head + "".join(rows[part::PARTS]), "utf-8")
    return paths


def pictures(folder: Path) -> list[Path]:
    """Three folders with 300 pictures of CIFAR-10 each, in folders by class."""
    with zipfile.ZipFile(real_data("cifar10_train.zip")) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        random.Random(1).shuffle(names)
        for part in range(PARTS):
            archive.extractall(folder / f"pictures-{part}", names[300 * part : 300 * (part + 1)])
    return [folder / f"pictures-{part}" for part in range(PARTS)]


def plays(folder: Path) -> list[Path]:
    """Three pieces of the plays, of 1,000 windows each."""
    text = real_data("tinyshakespeare.txt").read_text("utf-8")
    paths = [folder / f"plays-{part}.txt" for part in range(PARTS)]
    for part, path in enumerate(paths):
        path.write_text(text[64_100 * part : 64_100 * (part + 1)], "utf-8")
    return paths


VARIANTS = (
    Variant("titanic", passengers, "297 rows ready", (), 10, 0.76),
    Variant("cifar10", pictures, "300 pictures ready", ("training.epochs=2",), 8, 0.25),
    Variant(
        "shakespeare",
        plays,
        "ready",
        ("training.steps=6", "training.batch_size=8", "training.learning_rate=0.003"),
        5,
        0.2,
    ),
)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.task)
async def test_two_browsers_and_a_peer_reach_what_the_task_says(
    browser: Browser, tmp_path: Path, variant: Variant
) -> None:
    parts = variant.cut(tmp_path)
    coordination = {
        "min_available_clients": PARTS,
        "quorum": PARTS,
        "rounds": variant.rounds,
        "evaluate_every": variant.rounds,
        "deadline": 600,
        "adaptive_deadline": "false",
    }
    settings = [*variant.settings, *(f"coordination.{key}={value}" for key, value in coordination.items())]
    flags = [word for setting in settings for word in ("--set", f"{variant.task}.{setting}")]
    folder = Path(__file__).parents[4] / "models" / variant.task
    complaints, pages = [], []
    with (
        running(folder, tmp_path / "data", *flags) as server,
        joined(tmp_path / "home", server.url, "--data", str(parts[0])) as peer,
    ):
        for part in parts[1:]:
            page = await (await browser.new_context()).new_page()
            complaints.append(listen(page))
            pages.append(page)
            await page.goto(f"{server.url}/tasks/{variant.task}/train?backend=wasm")
            await expect(page.locator("[data-own-wanted]")).to_contain_text("This task needs")
            await drop(page, part)
            await expect(page.locator("[data-own-line]")).to_contain_text(variant.ready)
            await page.locator("[data-action=start]").click()
        accuracy = await asyncio.wait_for(measured(server, variant), LONG)
        await asyncio.to_thread(peer.expect, "finished", LONG)
        for page in pages:
            await expect(page.locator("[data-mistakes-line]")).to_contain_text("your own held-out examples")
        contributions = server.get(f"/api/tasks/{variant.task}/contributions")["contributions"]
    assert accuracy >= variant.accuracy
    assert sorted(one["kind"] for one in contributions) == ["browser", "browser", "peer"]
    assert all(one["accepted"] == variant.rounds for one in contributions)
    assert complaints == [[], []]


async def drop(page: Page, path: Path) -> None:
    """Drags a file or a folder from outside the browser onto the page's drop zone, and lets go."""
    zone = page.locator("[data-own-drop]")
    await zone.scroll_into_view_if_needed()
    box = await zone.bounding_box()
    assert box is not None
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    devtools = await page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        await devtools.send("Input.dispatchDragEvent", {"type": kind, "data": data, **place})


async def measured(server: Server, variant: Variant) -> float:
    """Accuracy of the last version on what all three kept aside, once it is known."""
    while True:
        answer: dict[str, Any] = await asyncio.to_thread(server.get, f"/api/tasks/{variant.task}/versions")
        last = answer["versions"][-1]
        if last["version"] == variant.rounds and last["evaluation"] is not None:
            return float(last["evaluation"]["metrics"]["accuracy"])
        await asyncio.sleep(0.5)
