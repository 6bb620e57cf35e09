"""Pictures of tasks over HTTP: who may see and change them, and how long they are cached."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest_asyncio

from backend.protocols.tasks.task_life import Life, LifeState
from backend.stores.embedded import open_stores
from tests.support.tasks.owner_files import png
from tests.support.tasks.picture_task import write_pictures
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import operator

PICTURE = "/tasks/{}/picture"
API = "/api/tasks/{}/picture"


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """A server with a task of pictures, one of numbers, and one of pictures in a private test."""
    write_pictures(tmp_path / "tasks" / "shown", held_out=())
    write_task(tmp_path / "tasks" / "numbers")
    write_pictures(tmp_path / "tasks" / "tested", held_out=())
    stores = open_stores(tmp_path / "data")
    await stores.lives.set_life("tested", Life(LifeState.TEST, running=LifeState.TEST))
    await stores.close()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        yield server


def signed_in(server: Server) -> httpx.Client:
    """Returns the operator, who sends bytes as the page does."""
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Accept": "application/json"}
    cookies = operator(server).cookies
    return httpx.Client(base_url=server.url, timeout=PATIENCE, headers=headers, cookies=cookies)


def test_a_drawn_picture_is_an_image_and_nothing_else(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as http:
        shown = http.get(API.format("shown")).json()
        assert (shown["kind"], shown["drawable"], shown["uploaded"]) == ("drawn", True, False)
        answer = http.get(PICTURE.format("shown"))
        assert answer.content.startswith(b"\x89PNG")
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "public, no-cache"
        assert answer.headers["etag"] == f'"{shown["tag"]}"'
        again = http.get(PICTURE.format("shown"), headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        lasting = http.get(PICTURE.format("shown"), params={"v": shown["tag"]})
        assert "immutable" in lasting.headers["cache-control"]
        for page in ("/", "/tasks/shown"):
            assert f"/tasks/shown/picture?v={shown['tag']}" in http.get(page).text
        woven = http.get(PICTURE.format("numbers"))
        assert (woven.status_code, woven.json()["error"]["code"]) == (404, "not-found")
        assert "/tasks/numbers/picture" not in http.get("/").text


def test_the_picture_of_a_hidden_task_is_hidden(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as stranger, signed_in(server) as owner:
        for path in (PICTURE.format("tested"), API.format("tested"), PICTURE.format("none")):
            assert stranger.get(path).status_code == 404
        assert stranger.put(API.format("shown"), content=png()).status_code == 401
        answer = owner.get(PICTURE.format("tested"))
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-cache")


def test_an_owner_uploads_a_picture_before_the_launch(server: Server) -> None:
    with signed_in(server) as owner:
        shown = owner.put(API.format("tested"), content=png(200)).json()
        assert shown["kind"] == "uploaded"
        told = owner.patch(API.format("tested"), json={"text": 'Noise "1"'}).json()
        assert told == shown | {"text": 'Noise "1"'}
        answer = owner.get(PICTURE.format("tested"))
        assert (answer.headers["content-type"], answer.content[8:12]) == ("image/webp", b"WEBP")
        assert "Noise &#34;1&#34;" in owner.get("/tasks/tested").text
        assert "data-picture-file" in owner.get("/tasks/tested/describe").text
        svg = owner.put(API.format("tested"), content=b"<svg/>", headers={"Accept-Language": "es"})
        assert (svg.status_code, svg.json()["error"]["code"]) == (422, "refused-file")
        assert "Expórtalo como PNG" in svg.json()["error"]["message"]
        long = owner.put(API.format("tested"), content=bytes(5_000_001))
        assert (long.status_code, long.json()["error"]["code"]) == (413, "too-long")
        assert owner.put(API.format("shown"), content=png()).status_code == 409
        assert owner.patch(API.format("shown"), json={"kind": "woven"}).status_code == 409
        assert owner.get(API.format("tested")).json() == told
        assert owner.patch(API.format("tested"), json={"kind": "woven"}).json()["tag"] == ""


def test_an_owner_uploads_a_picture_for_a_draft(server: Server) -> None:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as stranger, signed_in(server) as owner:
        draft = owner.post("/api/drafts", json={"name": "birds", "title": "Birds"}).json()["id"]
        address = f"/api/drafts/{draft}/picture"
        assert owner.get(address).json()["kind"] == "drawn"
        assert owner.get(f"{address}/file").status_code == 404
        shown = owner.put(address, content=png(200)).json()
        assert shown["kind"] == "uploaded"
        assert f"{address}/file?v={shown['tag']}" in owner.get(f"/drafts/{draft}/about").text
        answer = owner.get(f"{address}/file")
        assert (answer.headers["content-type"], answer.content[8:12]) == ("image/webp", b"WEBP")
        for hidden in (address, f"{address}/file"):
            assert stranger.get(hidden).status_code == 401
