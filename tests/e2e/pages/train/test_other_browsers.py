"""Firefox and WebKitGTK, Safari's engine, train on the real pages."""

from __future__ import annotations

import time

import pytest

from tests.support.exact.engines import BROWSERS
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.server_process import Server

START = "() => document.querySelector('[data-action=start]').click()"
LOOK = """() => ({
  examples: Number(document.querySelector('[data-examples]').textContent.replace(/\\D/g, '')),
  line: document.querySelector('[data-status]').textContent,
  hint: document.querySelector('[data-status-hint]').textContent,
})"""


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", ["firefox", "webkit"])
@pytest.mark.parametrize("backend", ["wasm", "exact"])
def test_a_page_trains(server: Server, name: str, backend: str) -> None:
    with BROWSERS[name]() as browser:
        tab = browser.open(f"{server.url}/tasks/digits/train?backend={backend}")
        tab.evaluate(START)
        until = time.monotonic() + PATIENCE
        while not (seen := tab.evaluate(LOOK))["examples"]:
            assert time.monotonic() < until, seen
            time.sleep(0.2)
        tab.close()
