"""A browser and a peer fetch a task's examples from a second server, and train one model on parts of them."""

from __future__ import annotations

import asyncio
import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.environment.data_server import Elsewhere, elsewhere
from tests.support.peer.peer_process import joined
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

EXAMPLES, HELD_OUT = 400, 40
# A task for each thing that can be wrong, beside the one that is right.
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "other": ({"sha256": "0" * 64}, "not the file that the task’s owner chose"),
    "counted": ({}, "the task says 359 and 40"),
    "cut": ({"bytes": 1000}, "longer than the task says"),
}


def _digits() -> bytes:
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    file = io.BytesIO()
    x = pixels[:EXAMPLES].reshape(-1, 8, 8, 1).astype(np.uint8)
    np.savez_compressed(file, x=x, y=digits[:EXAMPLES].astype(np.int32))
    return file.getvalue()


@pytest.fixture(scope="module")
def place() -> Iterator[Elsewhere]:
    with elsewhere({"/sets/digits.npz": _digits()}) as place:
        yield place


@pytest.fixture(scope="module")
def server(models: Path, place: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("far")
    # Nobody finishes the second one.
    for name in ("far", "away"):
        _write(root / "tasks" / name, models, place.table("/sets/digits.npz"))
    for name, (changes, _) in WRONG.items():
        train = EXAMPLES - HELD_OUT - (name == "counted")
        _write(root / "tasks" / name, models, place.table("/sets/digits.npz", **changes), train)
    with running(root / "tasks", root / "data") as server:
        yield server


def _write(folder: Path, models: Path, file: str, train: int = EXAMPLES - HELD_OUT) -> None:
    shutil.copytree(models / "digits/built/bundle", folder / "bundle")
    (folder / "task.toml").write_text(
        f"""name = "{folder.name}"
title = "Digits from elsewhere"
model = {{ file = "model.keras", bundle = "bundle", batch_size = 32 }}
[data]
source = "url"
preprocess = {{ kind = "array", scale = 0.0625 }}
holdout = 0.1
shards_per_client = 2
url = {{ files = [{file}], train = {train}, held_out = {HELD_OUT}, shard_examples = 45 }}
[coordination]
scheme = "federated"
rounds = 3
min_available_clients = 2
gather = 0
deadline = 300
adaptive_deadline = false
""",
        "utf-8",
    )


async def test_a_browser_and_a_peer_train_on_parts_of_what_they_fetch(
    page: Page, server: Server, place: Elsewhere, tmp_path: Path
) -> None:
    place.asked.clear()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(f"{server.url}/tasks/far/train?backend=wasm")
    assert place.asked == []
    await page.locator("[data-action=start]").click()
    await expect(page.locator("[data-url-line]")).to_contain_text("400 examples are here: 360 to learn from")
    with joined(tmp_path / "home", server.url, "--task", "far") as peer:
        await asyncio.to_thread(peer.expect, "finished", LONG)
        assert peer.end() == (0, "")
    (fetched,) = (news for news in peer.seen if news["event"] == "fetched")
    assert (fetched["examples"], fetched["holdout"]) == (400, 40)
    # Each fetched once, and nothing from the server that is named as a shard.
    assert place.asked == ["/sets/digits.npz"] * 2
    contributions = server.get("/api/tasks/far/contributions")["contributions"]
    assert sorted(one["kind"] for one in contributions) == ["browser", "peer"]
    # Two parts of 45 in each round.
    assert all(one["examples"] == 90 * one["accepted"] > 0 for one in contributions)
    measured = [news for news in peer.seen if news["event"] == "evaluated" and news["source"] == "clients"]
    assert measured
    key = server.get("/api/tasks/far/data")["url"]["files"][0]["sha256"]
    assert not any(f"/blobs/{key}" in url for url in asked)


async def test_its_training_page_and_no_other_may_fetch_from_there(server: Server, place: Elsewhere) -> None:
    def policy(path: str) -> str:
        headers = httpx.get(server.url + path).headers
        return next(one for one in headers["content-security-policy"].split("; ") if "connect-src" in one)

    assert policy("/tasks/far/train") == f"connect-src 'self' {place.origin}"
    assert policy("/tasks/far") == "connect-src 'self'"
    assert policy("/") == "connect-src 'self'"


@pytest.mark.parametrize("name", WRONG)
async def test_what_is_not_as_the_task_says_is_told_and_nobody_trains(
    page: Page, server: Server, name: str
) -> None:
    await page.goto(f"{server.url}/tasks/{name}/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    await expect(page.locator("[data-url-line]")).to_contain_text(WRONG[name][1])
    await expect(page.locator("[data-action=start]")).to_be_enabled()
    assert server.get(f"/api/tasks/{name}")["participants"] == 0


async def test_a_place_that_is_closed_to_pages_of_others_is_told(
    browser: Browser, server: Server, place: Elsewhere
) -> None:
    # The browser writes its refusal into the console, so this tab is not one that has to be quiet.
    page = await browser.new_page()
    place.closed = True
    try:
        await page.goto(f"{server.url}/tasks/away/train?backend=wasm")
        await page.locator("[data-action=start]").click()
        line = page.locator("[data-url-line]")
        await expect(line).to_contain_text("does not allow other sites to read its files (CORS)")
        assert place.origin.removeprefix("http://") in await line.inner_text()
    finally:
        place.closed = False
