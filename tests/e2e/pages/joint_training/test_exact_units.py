"""Browsers and peers of the backend exact do work units, each twice: equal, or somebody has lied."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser

from backend.peer.session.identity import STATE, stored_identity
from backend.wire.client_id import client_id
from tests.support.exact.engines import BROWSERS
from tests.support.exact.lying_worker import lying_worker
from tests.support.peer.peer_process import joined
from tests.support.tasks.gallery_units import write_gallery_units
from tests.support.timeouts import LONG
from tests.support.web.server_log import LOGGED, finished, logged
from tests.support.web.server_process import running

pytestmark = pytest.mark.browser

START = "() => document.querySelector('[data-action=start]').click()"
# The third result differs by one bit from what the worker computed.
LIE = lying_worker("if (results === 3) new Uint8Array(data.update)[0] ^= 1;")


@pytest.mark.timeout(LONG)
async def test_a_page_that_changes_one_bit_is_found_by_a_trusted_peer(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    trusted = client_id(stored_identity(home / STATE.relative_to("~")).token)
    # So many epochs that a page which comes late has its third unit.
    task = write_gallery_units(models / "digits", tmp_path / "tasks" / "digits", 100, 4, trusted)
    log = tmp_path / "server.log"
    with (
        running(task, tmp_path / "data", *LOGGED, log=log) as server,
        joined(home, f"{server.url}/tasks/digits", "--exact"),
    ):
        page = await (await browser.new_context()).new_page()
        await page.add_init_script(LIE)
        await page.goto(f"{server.url}/tasks/digits/train?backend=exact")
        await page.locator("[data-action=start]").click()
        async for _ in finished(server, "digits"):
            pass
        rejected = logged(log, "result rejected")
        (lie,) = (event for event in rejected if event["code"] == "invalid")
        leased = {event["lease"]: event["unit"] for event in logged(log, "unit leased")}
        record = await asyncio.to_thread(server.get, f"/api/tasks/digits/units/{leased[lie['lease']]}")
    # What waits then is not looked at.
    assert {(event["client"], event["code"]) for event in rejected if event is not lie} <= {
        (lie["client"], "doubtful")
    }
    results = [event["lease"] for event in logged(log, "result here") if event["client"] == lie["client"]]
    assert lie["client"] != trusted
    assert lie["lease"] == results[2]
    # Only the trusted peer's result of that unit counts.
    counted = Counter(leased[event["lease"]] for event in logged(log, "result counted"))
    assert counted[leased[lie["lease"]]] == 1
    (told,) = (one for one in record["results"] if one["client"] == lie["client"])
    # It trained as it should, and changed the update that it sent.
    assert told["parts"] == {"after": record["work"]["steps"], "by": None}


@pytest.mark.long
@pytest.mark.timeout(2 * LONG)
@pytest.mark.parametrize(("task", "rows", "accuracy"), [("digits", 100, 0.9), ("text-lstm", 96, 0.2)])
async def test_three_browsers_and_two_peers_agree_on_every_unit(
    browser: Browser, models: Path, tmp_path: Path, task: str, rows: int, accuracy: float
) -> None:
    folder = write_gallery_units(models / task, tmp_path / "tasks" / task, rows, 1000)
    log = tmp_path / "server.log"
    with ExitStack() as stack:
        server = stack.enter_context(running(folder, tmp_path / "data", *LOGGED, log=log))
        for number in range(2):
            stack.enter_context(joined(tmp_path / f"home-{number}", f"{server.url}/tasks/{task}", "--exact"))
        address = f"{server.url}/tasks/{task}/train?backend=exact"
        page = await (await browser.new_context()).new_page()
        await page.goto(address)
        await page.locator("[data-action=start]").click()
        for name in ("firefox", "webkit"):
            running_browser = await asyncio.to_thread(stack.enter_context, BROWSERS[name]())
            tab = await asyncio.to_thread(running_browser.open, address)
            await asyncio.to_thread(tab.evaluate, START)
        async for _ in finished(server, task):
            people = (await asyncio.to_thread(server.get, f"/api/tasks/{task}/contributions"))[
                "contributions"
            ]
            versions = (await asyncio.to_thread(server.get, f"/api/tasks/{task}/versions"))["versions"]
            measured = [one["evaluation"]["metrics"]["accuracy"] for one in versions if one["evaluation"]]
            if max(measured, default=0.0) >= accuracy and sum(one["accepted"] > 0 for one in people) >= 5:
                break
    assert {one["backend"] for one in people} == {"exact"}
    assert logged(log, "result rejected") == []
    leased = {event["lease"]: event["unit"] for event in logged(log, "unit leased")}
    assert len({leased[event["lease"]] for event in logged(log, "result counted")}) > 20
