"""How soon a training page takes its first step, counted from the navigation to the worker's first report.

Usage: python -m benchmarks.pages.first_step [--times N] [--backend NAME] [--json]

`minga serve` hosts the gallery's digits for one browser, which presses the button as soon as the page lets
it. `cold` is a browser that was never there, `warm` one that opens the page again with its cache. `loaded` is
when the page itself was complete: the floor, since nothing trains before that. Medians, in milliseconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
from pathlib import Path

from playwright.async_api import BrowserContext, async_playwright

from tests.support.browser.chromium import FLAGS, executable, patient
from tests.support.keras.reference_cache import ROOT
from tests.support.web.server_process import running

SETTINGS = ("min_available_clients=1", "rounds=100000", "gather=0.05")
# Notes when a worker first reports a step; milliseconds since the navigation began.
WATCH = """
window.Worker = class extends Worker {
  constructor(...parameters) {
    super(...parameters);
    this.addEventListener("message", ({ data }) => {
      if (data?.type === "progress") window.firstStep ??= performance.now();
    });
  }
};
"""
MOMENTS = """() => ({
  loaded: performance.getEntriesByType("navigation")[0].loadEventEnd,
  first_step: window.firstStep,
})"""


async def visit(context: BrowserContext, url: str) -> dict[str, float]:
    """Opens the page, starts the training, and returns the moments."""
    page = await context.new_page()
    await page.add_init_script(WATCH)
    await page.goto(url, wait_until="commit")
    await page.locator("[data-action=start]").click()
    await page.wait_for_function("() => window.firstStep !== undefined")
    moments: dict[str, float] = await page.evaluate(MOMENTS)
    await page.close()
    return moments


async def measure(times: int, backend: str) -> dict[str, dict[str, float]]:
    """Returns the medians of so many visits of each kind."""
    flags = [word for setting in SETTINGS for word in ("--set", f"digits.coordination.{setting}")]
    visits: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    with (
        tempfile.TemporaryDirectory() as folder,
        running(ROOT / "models" / "digits", Path(folder), *flags, log=Path(folder, "log")) as server,
    ):
        url = f"{server.url}/tasks/digits/train?backend={backend}"
        async with async_playwright() as playwright:
            for _ in range(times):
                started = await playwright.chromium.launch(executable_path=executable(), args=FLAGS)
                browser = patient(started)
                context = await browser.new_context()
                for kind in ("cold", "warm"):
                    visits[kind].append(await visit(context, url))
                await browser.close()
    return {
        kind: {key: round(statistics.median(one[key] for one in found)) for key in ("loaded", "first_step")}
        for kind, found in visits.items()
    }


def main() -> None:
    """Measures and prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=5, help="visits of each kind")
    parser.add_argument("--backend", default="wasm", help="the backend on which the page trains")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    found = asyncio.run(measure(options.times, options.backend))
    if options.json:
        print(json.dumps(found))
        return
    for kind, moments in found.items():
        print(f"{kind}: page loaded {moments['loaded']:.0f} ms, first step {moments['first_step']:.0f} ms")


if __name__ == "__main__":
    main()
