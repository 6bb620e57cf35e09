"""How smoothly the training page draws while its device trains: times between the frames of a real Chromium.

Usage: python -m benchmarks.pages.frame_times [--seconds S] [--json]

`minga serve` hosts the gallery's digits for one browser, whose rounds follow one another. The times are those
between calls of requestAnimationFrame, of three pages in turn: one that does nothing while nobody trains
(`idle`), the training page while it trains (`training`), and, while another window trains, the page
that does nothing again (`beside`): what the machine leaves to any page when its cores are busy. Chromium
draws once by itself (`software`), as without a graphics card, and once through an emulated one (`emulated`),
which takes the cores from everything else but has WebGL. `main_percent` is the processor time of the training
page's own thread.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from playwright.async_api import Browser, CDPSession, Page, async_playwright

from tests.support.browser.chromium import FLAGS, executable, patient
from tests.support.keras.reference_cache import ROOT
from tests.support.web.server_process import running

# How Chromium draws, and the backends on which the page trains.
WAYS = (("software", ("wasm", "cpu")), ("emulated", ("wasm", "webgl")))
ARGUMENTS = {"software": ["--no-sandbox", "--disable-gpu"], "emulated": FLAGS}
# The goal; at 60 frames a second a frame takes 16.7 ms.
SMOOTH = 20.0
SETTINGS = ("min_available_clients=1", "rounds=100000", "gather=0.05")

STARTED = "() => Number(document.querySelector('[data-accepted]').textContent) >= 2"
FRAMES = """
seconds => new Promise((resolve) => {
  const times = [];
  const begin = performance.now();
  let last = null;
  const frame = (now) => {
    if (last !== null) times.push(now - last);
    last = now;
    if (now - begin < 1000 * seconds) requestAnimationFrame(frame);
    else resolve(times);
  };
  requestAnimationFrame(frame);
})
"""


@dataclass(frozen=True)
class Row:
    """The frame times of one page during one backend's training, in milliseconds."""

    drawing: str
    backend: str
    page: str
    frames: int
    median: float
    p95: float
    longest: float
    # The share of frames that took longer than SMOOTH.
    late_percent: float
    # The accepted updates of this browser during the measurement.
    updates: int
    # Per cent of one processor; for the training page only.
    main_percent: float | None


@dataclass(frozen=True)
class Seen:
    """The observations of one page: frame times, and updates and processor time meanwhile."""

    times: Sequence[float]
    updates: int = 0
    main_percent: float | None = None


def row(drawing: str, backend: str, page: str, observed: Seen) -> Row:
    """Summarizes the observations of a page."""
    values = np.asarray(observed.times)
    return Row(
        drawing,
        backend,
        page,
        len(values),
        round(float(np.median(values)), 1),
        round(float(np.percentile(values, 95)), 1),
        round(float(values.max()), 1),
        round(100 * float(np.mean(values > SMOOTH)), 1),
        observed.updates,
        observed.main_percent,
    )


class Thread:
    """The main thread of a page."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    @classmethod
    async def of(cls, page: Page) -> Thread:
        session = await page.context.new_cdp_session(page)
        await session.send("Performance.enable", {"timeDomain": "threadTicks"})
        return cls(session)

    async def seconds(self) -> float:
        """Returns the processor time used so far."""
        metrics = (await self._session.send("Performance.getMetrics"))["metrics"]
        return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


async def frames(page: Page, seconds: float) -> list[float]:
    """Returns the times between the frames of a page in the foreground."""
    await page.bring_to_front()
    times: list[float] = await page.evaluate(FRAMES, seconds)
    return times


async def begin(browser: Browser, url: str, backend: str) -> Page:
    """Opens a training page and waits until its first updates are accepted."""
    page = await (await browser.new_context()).new_page()
    await page.goto(f"{url}/tasks/digits/train?backend={backend}")
    await page.locator("[data-action=start]").click()
    await page.wait_for_function(STARTED)
    return page


async def counted(page: Page) -> int:
    """Returns the number of this browser's accepted updates."""
    return int(await page.locator("[data-accepted]").inner_text())


async def compare(
    browser: Browser, url: str, backend: str, seconds: float
) -> AsyncIterator[tuple[str, Seen]]:
    """Yields the observations of the three pages in sequence."""
    idle_page = await (await browser.new_context()).new_page()
    yield "idle", Seen(await frames(idle_page, seconds))
    page = await begin(browser, url, backend)
    thread = await Thread.of(page)
    first, before = await counted(page), await thread.seconds()
    times = await frames(page, seconds)
    busy = await thread.seconds() - before
    updates = await counted(page)
    yield "training", Seen(times, updates - first, round(100000 * busy / sum(times), 1))
    times = await frames(idle_page, seconds)
    yield "beside", Seen(times, await counted(page) - updates)
    await page.context.close()
    await idle_page.context.close()


@asynccontextmanager
async def chromium(drawing: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS[drawing])
        yield patient(browser)
        await browser.close()


async def measure(seconds: float) -> list[Row]:
    """Returns a row for each way of drawing, backend and page."""
    flags = [word for observed in SETTINGS for word in ("--set", f"digits.coordination.{observed}")]
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running(ROOT / "models" / "digits", Path(folder), *flags, log=Path(folder, "log")) as server,
    ):
        for drawing, backends in WAYS:
            async with chromium(drawing) as browser:
                for backend in backends:
                    observations = compare(browser, server.url, backend, seconds)
                    rows += [row(drawing, backend, page, observed) async for page, observed in observations]
    return rows


def print_table(rows: Sequence[Row]) -> None:
    times = f"{'median':>7} {'p95':>7} {'longest':>8} {'late':>7}"
    print(f"{'drawing':9} {'backend':8} {'page':9} {times} {'main':>7}")
    for one in rows:
        main = "-" if one.main_percent is None else f"{one.main_percent:.1f} %"
        name = f"{one.drawing:9} {one.backend:8} {one.page:9}"
        times = f"{one.median:>7.1f} {one.p95:>7.1f} {one.longest:>8.1f}"
        print(f"{name} {times} {one.late_percent:>5.1f} % {main:>7}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages.frame_times", description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each page is watched")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.seconds))
    if options.json:
        records = [asdict(one) for one in rows]
        print(
            json.dumps({"processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "rows": records})
        )
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
