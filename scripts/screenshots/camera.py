"""Opens pages of the server in Chromium, and saves pictures of them."""

from __future__ import annotations

import io
from collections.abc import Mapping
from html import escape
from pathlib import Path

from PIL import Image
from playwright.async_api import Browser, Page
from rich.ansi import AnsiDecoder

WIDTH, HEIGHT = 1280, 960
TERMINAL_WIDTH = 800
COLOURS = 256
# A terminal with the colours of the pages in the dark.
TERMINAL = """
<style>
  body { margin: 0; background: #fbf6ec; }
  pre { margin: 0; padding: 24px 28px; font: 15px/1.6 "DejaVu Sans Mono", monospace; color: #f4eadb;
        background: #1a1512; white-space: pre-wrap; }
  b { color: #7fd0c4; font-weight: 600; }
</style>
"""


class Camera:
    """Owns the browser; `cookies` sign the owner in, and pictures are written `into` a folder."""

    def __init__(self, browser: Browser, url: str, cookies: Mapping[str, str], into: Path) -> None:
        self._browser = browser
        self.url = url
        self._cookies = cookies
        self._into = into

    async def open(self, path: str, signed_in: bool = False, height: int = HEIGHT) -> Page:
        """Opens a page in a new context: the owner's if `signed_in`, else a stranger's."""
        context = await self._browser.new_context(
            base_url=self.url, viewport={"width": WIDTH, "height": height}
        )
        if signed_in:
            await context.add_cookies(
                [{"name": name, "value": value, "url": self.url} for name, value in self._cookies.items()]
            )
        page = await context.new_page()
        await page.goto(path)
        return page

    async def save(self, page: Page, name: str) -> None:
        """Saves what the page shows, from its top."""
        await page.evaluate("scrollTo(0, 0)")
        self._write(await page.screenshot(animations="disabled"), name)

    async def save_terminal(self, command: str, output: str, name: str) -> None:
        """Saves the output of a command as a terminal shows it, without its colours."""
        context = await self._browser.new_context(viewport={"width": TERMINAL_WIDTH, "height": 100})
        page = await context.new_page()
        plain = "\n".join(line.plain.rstrip() for line in AnsiDecoder().decode(output))
        await page.set_content(f"{TERMINAL}<pre><b>$ {escape(command)}</b>\n{escape(plain)}</pre>")
        self._write(await page.locator("pre").screenshot(), name)
        await context.close()

    def _write(self, png: bytes, name: str) -> None:
        """Writes a picture with at most 256 colours, which is a third of its size."""
        picture = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT)
        picture.save(self._into / f"{name}.png", optimize=True)
