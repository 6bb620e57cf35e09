"""What axe-core finds wrong with a page for people who see, hear or point otherwise."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.async_api import Page

AXE = Path(__file__).parents[3] / "node_modules/axe-core/axe.min.js"
GRAVE = ("serious", "critical")


@cache
def _source() -> str:
    return AXE.read_text("utf-8")


async def findings(page: Page) -> list[str]:
    """Each serious finding as a sentence: the rule, what it asks, and the first places that break it."""
    # Evaluated by the debugger, which the page's content security policy does not bind.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_source())
    report = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{found['id']}: {found['help']} {[node['html'][:160] for node in found['nodes'][:3]]}"
        for found in report["violations"]
        if found["impact"] in GRAVE
    ]
