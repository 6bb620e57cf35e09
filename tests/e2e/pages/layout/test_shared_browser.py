"""Tests share one Chromium: nothing that a page stores in one of them is found in the next one."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.async_api import Page

from tests.support.environment.http_thread import serving

pytestmark = pytest.mark.browser

FOUND = """
async () => ({
  cookie: document.cookie,
  local: localStorage.getItem("left"),
  caches: await caches.keys(),
  databases: (await indexedDB.databases()).map((one) => one.name),
  workers: (await navigator.serviceWorker.getRegistrations()).length,
  files: await Array.fromAsync((await navigator.storage.getDirectory()).keys()),
})
"""
LEAVE = """
async () => {
  document.cookie = "left=1; max-age=9999";
  localStorage.setItem("left", "1");
  await caches.open("left");
  await new Promise((resolve) => { indexedDB.open("left").onsuccess = resolve; });
  await navigator.serviceWorker.register("/worker.js");
  await (await navigator.storage.getDirectory()).getFileHandle("left", { create: true });
  for (let times = 0; times < 2; times++) await (await fetch("/kept.txt")).text();
}
"""
NOTHING: dict[str, object] = {
    "cookie": "",
    "local": None,
    "caches": [],
    "databases": [],
    "workers": 0,
    "files": [],
}
FILES = {
    "/favicon.ico": "image/png",
    "/": "text/html",
    "/worker.js": "text/javascript",
    "/kept.txt": "text/plain",
}


class Site(ThreadingHTTPServer):
    """Empty files that browsers may keep for an hour; counts what is asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200 if self.path in FILES else 404)
        self.send_header("Content-Type", FILES.get(self.path, "text/plain"))
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Tests print nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    server = Site()
    with serving(server):
        yield server


@pytest.mark.parametrize("visit", [1, 2])
async def test_a_test_finds_nothing_of_the_one_before(page: Page, site: Site, visit: int) -> None:
    asked_before = site.asked.count("/kept.txt")
    await page.goto(f"http://127.0.0.1:{site.server_port}/")
    assert await page.evaluate(FOUND) == NOTHING
    await page.evaluate(LEAVE)
    assert await page.evaluate(FOUND) != NOTHING
    # It fetched twice: the second answer came from the cache, which is new, too.
    assert site.asked.count("/kept.txt") == asked_before + 1
