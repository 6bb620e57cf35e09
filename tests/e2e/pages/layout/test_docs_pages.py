"""The documentation in a real browser, from a real server, under its Content-Security-Policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.async_api import Browser, Page, expect

from backend.settings import site_folder
from tests.e2e.pages.conftest import listen
from tests.support.browser.axe import findings
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server

pytestmark = pytest.mark.browser

NARROWEST, PHONE, DESKTOP = (320, 640), (360, 740), (1280, 900)


def addresses() -> list[str]:
    """Every page; of the decisions their list."""
    site = site_folder()
    assert site.is_dir(), "The documentation is not built; run `make build` first."
    pages = sorted(path.parent.relative_to(site).as_posix() for path in site.rglob("index.html"))
    return [f"/docs/{page}/".replace("./", "") for page in pages if not page.startswith("decisions/0")]


@asynccontextmanager
async def opened(browser: Browser, size: tuple[int, int]) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = await context.new_page()
    complaints = listen(page)
    yield page
    await context.close()
    assert complaints == []


@pytest.mark.long
async def test_every_page_of_the_documentation_is_for_everybody_and_for_every_screen(
    browser: Browser, idle_server: Server
) -> None:
    async with opened(browser, PHONE) as page:
        for address in addresses():
            await page.goto(idle_server.url + address)
            assert await page.evaluate(
                "[...document.images].every((image) => image.complete && image.naturalWidth > 0)"
            ), address
            # Loaded once: the sheets answer to what the device is by then.
            await suits(page, PHONE, "dark", address)
            await suits(page, DESKTOP, "light", address)


async def suits(page: Page, size: tuple[int, int], scheme: Literal["dark", "light"], address: str) -> None:
    await page.set_viewport_size({"width": size[0], "height": size[1]})
    await page.emulate_media(color_scheme=scheme)
    assert await page.evaluate("document.documentElement.scrollWidth") == size[0], (address, size)
    assert await findings(page) == [], (address, scheme)


async def test_a_reader_comes_from_the_gallery_and_goes_back(browser: Browser, idle_server: Server) -> None:
    async with opened(browser, NARROWEST) as page:
        await page.goto(idle_server.url)
        await page.get_by_role("link", name="Documentation").click()
        await page.locator("article").get_by_role("link", name="Your first training").click()
        await expect(page).to_have_title("Your first training, in five minutes · Minga")
        await page.get_by_text("All pages").click()
        current = page.get_by_role("navigation", name="Documentation").locator("[aria-current]")
        await expect(current).to_have_text("Your first training, in five minutes")
        assert await page.evaluate("document.documentElement.scrollWidth") == NARROWEST[0]
        await page.get_by_role("link", name="Tasks", exact=True).click()
        await expect(page).to_have_url(f"{idle_server.url}/")


async def test_a_word_typed_before_the_index_came_is_found(browser: Browser, idle_server: Server) -> None:
    async with opened(browser, DESKTOP) as page:
        fetched: list[str] = []
        page.on("request", lambda request: fetched.append(request.url))
        await page.goto(f"{idle_server.url}/docs/how-to/run-a-peer/")
        assert not [url for url in fetched if "search_index" in url]
        await page.get_by_role("searchbox").fill("X-Forwarded-For")
        await page.locator("#mkdocs-search-results a", has_text="How it runs").click()
        await expect(page).to_have_url(f"{idle_server.url}/docs/reference/settings/#how-it-runs")


async def test_the_header_of_other_pages_searches_the_documentation(
    browser: Browser, idle_server: Server
) -> None:
    async with opened(browser, DESKTOP) as page:
        await page.goto(idle_server.url)
        await page.get_by_role("searchbox", name="Search the documentation").fill("X-Forwarded-For")
        await page.keyboard.press("Enter")
        await expect(page.locator("#mkdocs-search-results a", has_text="How it runs")).to_be_visible()


async def test_without_scripts_there_is_all_but_the_search(browser: Browser, idle_server: Server) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(f"{idle_server.url}/docs")
    await expect(page).to_have_url(f"{idle_server.url}/docs/")
    await page.get_by_text("All pages").click()
    listed = page.get_by_role("navigation", name="Documentation")
    await listed.get_by_role("link", name="Run a peer").click()
    await expect(page.locator("h1")).to_have_text("Run a peer")
    await context.close()


def test_pages_come_compressed_with_the_policy_of_all_pages(idle_server: Server) -> None:
    address = f"{idle_server.url}/docs/search/search_index.json"
    with urlopen(Request(address, headers={"Accept-Encoding": "gzip"}), timeout=PATIENCE) as answer:
        assert len(answer.read()) < 0.4 * (site_folder() / "search/search_index.json").stat().st_size
    with urlopen(f"{idle_server.url}/docs/", timeout=PATIENCE) as answer:
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["Cache-Control"] == "no-cache"
        tag = answer.headers["ETag"]
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(f"{idle_server.url}/docs/", headers={"If-None-Match": tag}), timeout=PATIENCE)
    with caught.value as answer:
        assert answer.code == 304


def test_an_address_without_a_page_says_so(idle_server: Server) -> None:
    with pytest.raises(HTTPError, match="404") as caught:
        urlopen(
            Request(f"{idle_server.url}/docs/nowhere/", headers={"Accept": "text/html"}), timeout=PATIENCE
        )
    with caught.value as answer:
        assert "There is nothing at this address" in answer.read().decode()
