"""Firefox and WebKitGTK, Safari's engine, train on the real pages: they draw, stop, hide and come back."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.browser.firefox import FirefoxTab
from tests.support.browser.webkit import WebKitTab
from tests.support.exact.engines import BROWSERS, BrowserTab
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.server_process import Server

PRESS = "() => document.querySelector('[data-action]').click()"
LOOK = """() => ({
  examples: Number(document.querySelector('[data-examples]').textContent.replace(/\\D/g, '')),
  line: document.querySelector('[data-status]').textContent,
  hint: document.querySelector('[data-status-hint]').textContent,
  starts: document.querySelector('[data-action]').dataset.action === 'start',
  hidden: document.hidden,
})"""
# Whether something is drawn into the chart.
DRAWN = """() => [...document.querySelectorAll('[data-curve-mine] canvas')].some((canvas) =>
  canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0))"""


def until(tab: BrowserTab, **wanted: Any) -> dict[str, Any]:
    """What the page shows, once it has at least so many `examples`, and the other values."""
    end = time.monotonic() + PATIENCE
    while True:
        seen: dict[str, Any] = tab.evaluate(LOOK)
        others = {key: value for key, value in wanted.items() if key != "examples"}
        if seen["examples"] >= wanted.get("examples", 0) and others.items() <= seen.items():
            return seen
        assert time.monotonic() < end, (seen, wanted)
        time.sleep(0.2)


def wait(tab: BrowserTab, script: str, wanted: Any) -> None:
    """Waits until the script returns what is wanted."""
    end = time.monotonic() + PATIENCE
    while (seen := tab.evaluate(script)) != wanted:
        assert time.monotonic() < end, (seen, wanted)
        time.sleep(0.2)


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", ["firefox", "webkit"])
@pytest.mark.parametrize("backend", ["wasm", "exact"])
def test_a_page_trains(server: Server, name: str, backend: str) -> None:
    with BROWSERS[name]() as browser:
        tab = browser.open(f"{server.url}/tasks/digits/train?backend={backend}")
        tab.evaluate(PRESS)
        until(tab, examples=1)
        tab.close()


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", ["firefox", "webkit"])
def test_a_page_draws_stops_hides_and_comes_back(server: Server, name: str) -> None:
    address = f"{server.url}/tasks/digits/train?backend=wasm"
    with BROWSERS[name]() as browser:
        tab = browser.open(address)
        assert isinstance(tab, FirefoxTab | WebKitTab)
        tab.evaluate(PRESS)
        trained = until(tab, examples=1)["examples"]
        wait(tab, DRAWN, True)
        tab.evaluate(PRESS)
        until(tab, starts=True)
        tab.evaluate(PRESS)
        trained = until(tab, examples=trained + 1)["examples"]
        with tab.hidden():
            trained = until(tab, examples=trained + 1, hidden=True)["examples"]
        until(tab, examples=trained + 1, hidden=False)
        # The page is left while it trains, and then taken up again.
        tab.close()
        tab.back()
        wait(tab, "() => [location.href, document.readyState]", [address, "complete"])
        until(tab, starts=True)
        tab.evaluate(PRESS)
        until(tab, examples=1)
        tab.close()
