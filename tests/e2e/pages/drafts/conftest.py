"""A server with the digits, its operator ann, and her tab."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(models / "digits", tmp_path_factory.mktemp("drafts")) as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, ann: Visitor) -> AsyncIterator[Page]:
    """Ann's tab, which must stay quiet."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    await sign_in(context, ann)
    page = await context.new_page()
    complaints = listen(page)
    yield page
    await context.close()
    assert complaints == []
