"""A page sends a large file by tus-js-client, while its connection is cut in the middle of a piece."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.e2e.pages.conftest import sign_in
from tests.support.environment.tcp_forwarder import cut_once
from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import running
from tests.support.web.visitors import operator

MIB = 1 << 20


@pytest.mark.parametrize("megabytes", [5, pytest.param(50, marks=pytest.mark.long)])
async def test_an_upload_that_is_cut_has_the_same_bytes(
    browser: Browser, models: Path, tmp_path: Path, megabytes: int
) -> None:
    content = b"PK\x03\x04" + random.Random(7).randbytes(megabytes * 1000 * 1000)
    file = tmp_path / "pets.zip"
    file.write_bytes(content)
    write_task(tmp_path / "tasks" / "tiny")
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        ann = operator(server)
        draft = ann.ask("POST", "/api/drafts", {"name": "pets"}, 201)["id"]
        context = await browser.new_context()
        await sign_in(context, ann)
        page = await context.new_page()
        scripts, offsets = list[str](), list[int]()
        page.on(
            "request",
            lambda request: (
                offsets.append(int(request.headers["upload-offset"]))
                if request.method == "PATCH" and "upload-offset" in request.headers
                else scripts.append(request.url)
            ),
        )
        async with cut_once(server.url, megabytes * MIB // 2 + MIB // 4) as (url, cuts):
            await page.goto(f"{url}/drafts/{draft}/data")
            choose = page.get_by_label("Choose the data")
            await expect(choose).to_be_enabled()
            before = len(scripts)
            await choose.set_input_files(file)
            await expect(page.get_by_text("pets.zip is here:")).to_be_visible()
            await page.close()
        assert cuts == [True]
        # tus-js-client comes only once an upload begins.
        manifest = json.loads((models.parent / "webapp/static/dist/manifest.json").read_text("utf-8"))
        (client,) = (made["file"] for name, made in manifest.items() if "/tus-js-client/" in name)
        (fetched,) = (place for place, script in enumerate(scripts) if script.endswith(client))
        assert fetched >= before
        # What came of the piece that was cut is not sent again, nor is anything before it.
        assert offsets == sorted(offsets)
        assert any(offset % MIB for offset in offsets)
        shown = ann.ask("GET", f"/api/drafts/{draft}")
        assert shown["files"]["data"]["sha256"] == hashlib.sha256(content).hexdigest()
        (kept,) = (tmp_path / "data" / "drafts").glob("*/data.zip")
        assert kept.read_bytes() == content
        await context.close()
