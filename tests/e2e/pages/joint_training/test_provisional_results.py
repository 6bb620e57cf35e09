"""A page works until it is believed, then lies; a trusted peer finds it, and its results leave the model."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from playwright.async_api import Browser

from backend.formats.pins import pin_bundle
from backend.peer.session.identity import STATE, stored_identity
from backend.wire.client_id import client_id
from tests.support.exact.lying_worker import lying_worker
from tests.support.peer.peer_process import joined
from tests.support.tasks.gallery_units import write_gallery_units
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.timeouts import LONG
from tests.support.web.server_log import LOGGED, finished, logged
from tests.support.web.server_process import running

pytestmark = [pytest.mark.browser, pytest.mark.long]

# From its eighth result on the worker sends the opposite of what it computed.
LIE = lying_worker(
    "if (results >= 8) new Float32Array(data.update).forEach((x, i, all) => { all[i] = -x; });"
)


@pytest.mark.timeout(LONG)
async def test_a_page_that_lies_once_it_is_believed_loses_all_it_gave(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    home, log = tmp_path / "home", tmp_path / "server.log"
    trusted = client_id(stored_identity(home / STATE.relative_to("~")).token)
    tasks = tmp_path / "tasks"
    folder = write_gallery_units(models / "digits", tasks / "digits", 50, 2, trusted)
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace("checked = 100000", "checked = 1")
    file.write_text(re.sub(r"spot_checks = 0\.0\n", "spot_checks = 0.01\n", text), "utf-8")
    require_exact(folder, None)
    pin_bundle(folder / "built" / "bundle", built_program())
    with (
        running(tasks, tmp_path / "data", *LOGGED, log=log) as server,
        joined(home, f"{server.url}/tasks/digits", "--exact"),
    ):
        pages = [await (await browser.new_context()).new_page() for _ in range(2)]
        await pages[0].add_init_script(LIE)
        for page in pages:
            await page.goto(f"{server.url}/tasks/digits/train?backend=exact")
            await page.locator("[data-action=start]").click()
        async for _ in finished(server, "digits"):
            pass
        newest = (await asyncio.to_thread(server.measured_versions, "digits"))[-1]
    taken_out = logged(log, "a client was refuted: its results are out of the model")
    assert len(taken_out) == 1
    assert taken_out[0]["results"] > 0
    assert len({line["client"] for line in logged(log, "result rejected")}) <= 1
    assert not logged(log, "an event failed")
    assert not logged(log, "a job failed")
    # Up to a quarter of the results are taken out, of which those of an earlier epoch are not computed again.
    assert newest["evaluation"]["metrics"]["accuracy"] > 0.6
