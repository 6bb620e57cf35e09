"""A digit drawn by hand on the page."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from playwright.async_api import Locator, Page


async def drawing_area(page: Page) -> Locator:
    """Returns the canvas, once its section is unfolded, which a phone's page folds."""
    fold = page.locator("[data-trial] details[data-section]:has([data-canvas])")
    if await fold.count() and not await fold.evaluate("fold => fold.open"):
        await fold.locator("> summary").click()
    return page.locator("[data-trial] [data-canvas]")


async def draw_circle(page: Page, halfway: Callable[[], Awaitable[object]] | None = None) -> None:
    """Draws a zero with one stroke of the mouse; `halfway` is called in the middle of it."""
    canvas = await drawing_area(page)
    # Scrolls there, and waits until it keeps still and nothing lies over it.
    await canvas.hover()
    box = await canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    points = [
        (x + 45 * math.sin(turn), y - 75 * math.cos(turn)) for turn in (k * math.tau / 24 for k in range(25))
    ]
    await page.mouse.move(*points[0])
    await page.mouse.down()
    # A page that moved under the mouse would have something else pressed: the button that stops, say.
    assert await canvas.evaluate("canvas => canvas.matches(':active')"), "The mouse is not on the canvas."
    for number, point in enumerate(points[1:]):
        if halfway and number == len(points) // 2:
            await halfway()
        await page.mouse.move(*point)
    await page.mouse.up()


async def chances(page: Page) -> list[float]:
    """What the bars say, those of one version after the other."""
    values: list[float] = await page.locator("[data-answers] progress").evaluate_all(
        "bars => bars.map((bar) => bar.value)"
    )
    return values
