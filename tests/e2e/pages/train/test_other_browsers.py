"""Chromium, Firefox and WebKitGTK, Safari's engine, train on the real pages."""

from __future__ import annotations

import pytest

from tests.support.browser.training_visit import PRESS, STEPS, until, visit
from tests.support.exact.engines import BROWSERS
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import Server


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(
    ("backend", "name"),
    [
        ("exact", "firefox"),
        ("wasm", "webkit"),
        pytest.param("wasm", "firefox", marks=pytest.mark.long),
        pytest.param("exact", "webkit", marks=pytest.mark.long),
    ],
)
def test_a_page_trains(server: Server, name: str, backend: str) -> None:
    with BROWSERS[name]() as browser:
        tab = browser.open(f"{server.url}/tasks/digits/train?backend={backend}")
        tab.evaluate(PRESS)
        until(tab, examples=1)
        tab.close()


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize("name", BROWSERS)
def test_a_page_draws_stops_hides_and_comes_back(server: Server, name: str) -> None:
    with BROWSERS[name]() as browser:
        done = list(visit(browser, f"{server.url}/tasks/digits/train?backend=wasm"))
    assert done == [step for step in STEPS if (name, step) != ("chromium", "hides")]
