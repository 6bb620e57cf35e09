"""A real server with the digits task, and a real Chromium that looks at its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor

MODELS = Path(__file__).parents[3] / "models"

expect.set_options(timeout=1000 * PATIENCE)


@pytest.fixture(scope="session")
def models() -> Path:
    """The gallery, built."""
    for needed in (MODELS / "digits/built/bundle", MODELS.parent / "webapp/static/dist/manifest.json"):
        assert needed.exists(), "The gallery or the web app is not built; run `make build` first."
    return MODELS


@pytest.fixture
def server(models: Path, tmp_path: Path) -> Iterator[Server]:
    """A server of its own, whose rounds open for a single client."""
    flags = ("--set", "digits.coordination.min_available_clients=1")
    with running(models / "digits", tmp_path, *flags) as server:
        yield server


@pytest.fixture(scope="module")
def idle_server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for tests that train nothing."""
    with running(models / "digits", tmp_path_factory.mktemp("idle")) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A tab that must stay quiet: errors, warnings and refused addresses fail its test."""
    page = await browser.new_page()
    complaints = listen(page)
    yield page
    assert complaints == []


def listen(page: Page) -> list[str]:
    """What the tab complains about from now on."""
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    return complaints


async def sign_in(context: BrowserContext, visitor: Visitor) -> None:
    """Has the tabs of a browser signed in as `visitor` is."""
    for name, value in visitor.cookies.items():
        await context.add_cookies([{"name": name, "value": value, "url": f"http://{visitor.host}"}])
