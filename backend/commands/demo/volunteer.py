"""Runs a headless volunteer: Chromium opens a training page and presses its start button.

`python -m backend.commands.demo.volunteer PAGE` runs until SIGTERM, and reports `{"event": "started"}` when
the page trains.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys

from backend.errors import DemoError

BROWSERS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
FLAGS = (
    # WebGL and WebGPU in software, where there is no graphics card.
    "--enable-unsafe-swiftshader",
    "--use-angle=swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
OPEN_SECONDS = 60.0


async def volunteer(page_address: str) -> None:
    """Trains on the page until a signal stops the process. Raises DemoError if the page does not start."""
    from playwright.async_api import Error, async_playwright

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        async with async_playwright() as playwright:
            path = next(filter(None, map(shutil.which, BROWSERS)), None)
            browser = await playwright.chromium.launch(
                executable_path=path, args=list(FLAGS), handle_sigint=False, handle_sigterm=False
            )
            page = await browser.new_page()
            page.on("pageerror", lambda error: print(f"The page failed: {error}", file=sys.stderr))
            page.on("crash", lambda _: print("The page crashed.", file=sys.stderr))
            page.set_default_timeout(1000 * OPEN_SECONDS)
            await page.goto(page_address)
            await page.click('[data-action="start"]:enabled')
            await page.wait_for_selector('[data-action="stop"]')
            print(json.dumps({"event": "started"}), flush=True)
            await stop.wait()
            await browser.close()
    except Error as error:
        if not stop.is_set():
            cause = error.message.partition("\n")[0]
            raise DemoError(
                f"The headless browser failed ({cause}). It needs Chromium: on Debian `apt install chromium`."
            ) from error


if __name__ == "__main__":
    try:
        asyncio.run(volunteer(sys.argv[1]))
    except DemoError as problem:
        sys.exit(str(problem))
