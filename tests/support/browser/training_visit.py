"""A visit to a training page in any browser: it draws, stops, hides and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from tests.support.browser.firefox import FirefoxTab
from tests.support.browser.webkit import WebKitTab
from tests.support.exact.engines import Browser, BrowserTab
from tests.support.timeouts import PATIENCE

STEPS = {
    "draws": "Draws the curves of a training",
    "stops": "Stops and starts again",
    "hides": "Trains on behind another tab or minimized",
    "returns": "Trains again after it was left",
}

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
PLACE = "() => [location.pathname, document.readyState]"


def until(tab: BrowserTab, **wanted: Any) -> dict[str, Any]:
    """Returns what the page shows once it has at least so many `examples`, and the other values.

    Raises TimeoutError with what it shows instead.
    """
    end = time.monotonic() + PATIENCE
    while True:
        seen: dict[str, Any] = tab.evaluate(LOOK)
        others = {key: value for key, value in wanted.items() if key != "examples"}
        if seen["examples"] >= wanted.get("examples", 0) and others.items() <= seen.items():
            return seen
        if time.monotonic() > end:
            raise TimeoutError(f"The page shows {seen}, not {wanted}.")
        time.sleep(0.2)


def visit(browser: Browser, address: str) -> Iterator[str]:
    """Opens a training page, and yields the name of each of `STEPS` once it was done.

    Headless Chromium has no tab that is not seen, so it leaves out "hides". Raises TimeoutError.
    """
    tab = browser.open(address)
    place = tab.evaluate(PLACE)
    tab.evaluate(PRESS)
    trained = until(tab, examples=1)["examples"]
    _wait(tab, DRAWN, True)
    yield "draws"
    tab.evaluate(PRESS)
    until(tab, starts=True)
    tab.evaluate(PRESS)
    trained = until(tab, examples=trained + 1)["examples"]
    yield "stops"
    if isinstance(tab, FirefoxTab | WebKitTab):
        with tab.hidden():
            trained = until(tab, examples=trained + 1, hidden=True)["examples"]
        until(tab, examples=trained + 1, hidden=False)
        yield "hides"
    # The page is left while it trains.
    tab.go(urljoin(address, "/"))
    _wait(tab, PLACE, ["/", "complete"])
    tab.back()
    _wait(tab, PLACE, place)
    until(tab, starts=True)
    tab.evaluate(PRESS)
    until(tab, examples=1)
    yield "returns"
    tab.close()


def _wait(tab: BrowserTab, script: str, wanted: Any) -> None:
    end = time.monotonic() + PATIENCE
    while (seen := tab.evaluate(script)) != wanted:
        if time.monotonic() > end:
            raise TimeoutError(f"The page shows {seen}, not {wanted}.")
        time.sleep(0.2)
