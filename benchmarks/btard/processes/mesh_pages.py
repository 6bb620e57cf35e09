"""Pages of Chromium that take part in the training of a mesh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from playwright.async_api import Browser, Page

from tests.support.browser.chromium import Chromium, chromium
from tests.support.timeouts import LONG

# What a page holds after each round, by the server's number of the round.
_RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  const note = () => { if (root.dataset.holds) window.held[root.dataset.round] = root.dataset.holds; };
  new MutationObserver(note).observe(root, { attributes: true });
}"""


class MeshPages:
    """Pages of one browser, each in a context of its own."""

    def __init__(self, browser: Chromium, pages: Sequence[Page]) -> None:
        self._browser, self._pages = browser, pages

    def held(self) -> list[dict[int, str]]:
        """Returns the SHA-256 of each page's weights after the rounds that it saw end."""
        found: list[dict[str, str]] = [
            self._browser.wait(page.evaluate("window.held"), LONG) for page in self._pages
        ]
        return [{int(number): weights for number, weights in one.items()} for one in found]


@contextmanager
def training_pages(address: str, count: int, backend: str = "wasm") -> Iterator[MeshPages | None]:
    """Opens `count` pages that train at `address`; none, and no browser, for 0."""
    if not count:
        yield None
        return
    with chromium() as browser:
        address = f"{address}/train?backend={backend}"
        yield MeshPages(browser, [browser.wait(_open(browser.browser, address), LONG) for _ in range(count)])


async def _open(browser: Browser, address: str) -> Any:
    # Without a graphics card the moving lines of the mesh cost as much as taking part in it.
    page = await (await browser.new_context(reduced_motion="reduce")).new_page()
    await page.goto(address)
    await page.evaluate(_RECORD)
    await page.locator("[data-action=start]").click()
    return page
