"""Finds accessibility faults of a page by axe-core."""

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
    """Returns each serious finding as a sentence: the rule, its demand, and the first violations."""
    # The debugger evaluates it, which the page's content security policy does not restrict.
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_source())
    report = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{found['id']}: {found['help']} {[node['html'][:160] for node in found['nodes'][:3]]}"
        for found in report["violations"]
        if found["impact"] in GRAVE
    ]
