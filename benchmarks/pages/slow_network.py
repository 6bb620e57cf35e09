"""How long pages take to come over a slow network: a real server, and Chromium with its network held back.

Usage: python -m benchmarks.pages.slow_network [--kilobits 400] [--latency 400] [--repeats 3] [--json]

Each page is opened by a browser that has nothing of it. `paint_s` is the first contentful paint; `ready_s` is
when what one presses works: on the gallery and a task's page a link, which is there when it is painted, on
the training page the button that the script enables. `floor` is a line of text from the same server, without
styles and scripts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, async_playwright

from benchmarks.support.dense_task import ROOT
from benchmarks.support.server_process import serving
from tests.support.browser.chromium import FLAGS, executable
from tests.support.timeouts import LONG

PAGES = {"floor": "/healthz", "gallery": "/", "task": "/tasks/digits", "train": "/tasks/digits/train"}
PAINTED = """() => new Promise((told) => new PerformanceObserver((list) => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  if (paint) told(paint.startTime / 1000);
}).observe({ type: "paint", buffered: true }))"""
ENABLED = """() => document.querySelector("[data-action=start]:enabled") && performance.now() / 1000"""


async def open_page(browser: Browser, address: str, kilobits: float, latency: float) -> dict[str, float]:
    """Opens a page; returns seconds since the request, and bytes and requests over the network."""
    context = await browser.new_context()
    context.set_default_timeout(1000 * LONG)
    page = await context.new_page()
    network = await context.new_cdp_session(page)
    received = {"bytes": 0.0, "requests": 0.0}

    def finished(event: dict[str, Any]) -> None:
        received["bytes"] += event["encodedDataLength"]
        received["requests"] += 1

    network.on("Network.loadingFinished", finished)
    await network.send("Network.enable")
    rate = kilobits * 1000 / 8
    limits = {"offline": False, "latency": latency, "downloadThroughput": rate, "uploadThroughput": rate}
    await network.send("Network.emulateNetworkConditions", limits)
    await page.goto(address, wait_until="commit")
    times = {"paint_s": await page.evaluate(PAINTED)}
    times["ready_s"] = times["paint_s"]
    if address.endswith("/train"):
        enabled = await page.wait_for_function(ENABLED)
        times["ready_s"] = max(times["paint_s"], await enabled.json_value())
    # The page is not used yet, so requests after the button's script count, too.
    await page.wait_for_load_state("networkidle")
    await context.close()
    return {**times, **received}


async def measure(url: str, kilobits: float, latency: float, repeats: int) -> dict[str, dict[str, float]]:
    """Returns medians by page."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=FLAGS)
        medians = {}
        for name, path in PAGES.items():
            runs = [await open_page(browser, f"{url}{path}", kilobits, latency) for _ in range(repeats)]
            medians[name] = {key: round(statistics.median(run[key] for run in runs), 2) for key in runs[0]}
        await browser.close()
    return medians


def main() -> None:
    """Prints a line for each page, or all results as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kilobits", type=float, default=400, help="bits a second each way, in thousands")
    parser.add_argument("--latency", type=float, default=400, help="milliseconds that a request waits")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "models/digits", Path(folder, "tasks/digits"))
        with serving(Path(folder)) as (_, address):
            url = f"http://{address}"
            pages = asyncio.run(measure(url, options.kilobits, options.latency, options.repeats))
    if options.json:
        print(json.dumps({"kilobits": options.kilobits, "latency_ms": options.latency, "pages": pages}))
        return
    for name, figures in pages.items():
        print(f"{name:8} {figures}")


if __name__ == "__main__":
    main()
