"""One browser and one site for all tests here; one page for each backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Tab, chromium
from tests.browser.references import build_harness, references
from tests.browser.site import serve


@pytest.fixture(scope="session")
def bundles() -> Path:
    return references()


@pytest.fixture(scope="session")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="session")
def blobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files by hash, served at /blobs/ as by the real server."""
    return tmp_path_factory.mktemp("blobs")


@pytest.fixture(scope="session")
def origin(bundles: Path, blobs: Path) -> Iterator[str]:
    with serve({"/harness/": build_harness(), "/bundles/": bundles, "/blobs/": blobs}) as address:
        yield address


@contextmanager
def pages(browser: Chromium, origin: str) -> Iterator[Callable[[str], Tab]]:
    """Pages of the harness by name, each opened when it is first asked for."""
    tabs: dict[str, Tab] = {}

    def tab(name: str) -> Tab:
        if name not in tabs:
            tabs[name] = browser.open(f"{origin}/harness/index.html")
        return tabs[name]

    yield tab
    for opened in tabs.values():
        opened.close()


@pytest.fixture(scope="session")
def tab_for(browser: Chromium, origin: str) -> Iterator[Callable[[str], Tab]]:
    """The page of a backend."""
    with pages(browser, origin) as tab:
        yield tab


@pytest.fixture(scope="session")
def bare_tab_for(browser: Chromium) -> Iterator[Callable[[str], Tab]]:
    """The page of a backend on a site without bundles, which take long to make."""
    with serve({"/harness/": build_harness()}) as address, pages(browser, address) as tab:
        yield tab
