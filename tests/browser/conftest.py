"""One browser and one site for all tests here; one page for each backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="session")
def tab_for(browser: Chromium, origin: str) -> Iterator[Callable[[str], Tab]]:
    """The page of a backend, opened when it is first asked for."""
    tabs: dict[str, Tab] = {}

    def tab(backend: str) -> Tab:
        if backend not in tabs:
            tabs[backend] = browser.open(f"{origin}/harness/index.html")
        return tabs[backend]

    yield tab
    for opened in tabs.values():
        opened.close()
