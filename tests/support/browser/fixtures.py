"""Fixtures of the harness' tests: one browser and one site for all, one page for each backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.browser.chromium import Chromium, Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness
from tests.support.plugins.page_evidence import watch
from tests.support.timeouts import PATIENCE


@pytest.fixture(scope="session")
def bundles(references: Path) -> Path:
    return references


@pytest.fixture(scope="session")
def harness() -> Iterator[Chromium]:
    """The browser of the harness' pages, driven by its own thread since these tests are synchronous."""
    with chromium() as running:
        watch(running.browser, lambda work: running.wait(work, PATIENCE))
        yield running


@pytest.fixture(scope="session")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of files by hash that are served at /blobs/ as by the real server."""
    return tmp_path_factory.mktemp("blobs")


@pytest.fixture(scope="session")
def origin(bundles: Path, blobs: Path) -> Iterator[str]:
    with serve({"/harness/": build_harness(), "/bundles/": bundles, "/blobs/": blobs}) as address:
        yield address


@contextmanager
def pages(harness: Chromium, origin: str) -> Iterator[Callable[[str], Tab]]:
    """Yields a function that returns pages of the harness by name, opened on first use."""
    tabs: dict[str, Tab] = {}

    def tab(name: str) -> Tab:
        if name not in tabs:
            tabs[name] = harness.open(f"{origin}/harness/index.html")
        return tabs[name]

    yield tab
    for opened in tabs.values():
        opened.close()


@pytest.fixture(scope="session")
def tab_for(harness: Chromium, origin: str) -> Iterator[Callable[[str], Tab]]:
    """Returns the page of a backend."""
    with pages(harness, origin) as tab:
        yield tab


@pytest.fixture(scope="session")
def bare_tab_for(harness: Chromium) -> Iterator[Callable[[str], Tab]]:
    """Returns the page of a backend on a site without bundles, which take long to build."""
    with serve({"/harness/": build_harness()}) as address, pages(harness, address) as tab:
        yield tab
