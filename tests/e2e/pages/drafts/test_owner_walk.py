"""A new owner's whole way, by pages only, in real browsers."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from benchmarks.pages.owner_walk import PICTURES, walk
from tests.support.browser.axe import findings
from tests.support.plugins.requirements import real_data
from tests.support.web.server_process import running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow, pytest.mark.long]


async def looked_at(page: Page, name: str) -> None:
    """axe finds nothing serious, and nothing sticks out of a phone."""
    assert await findings(page) == [], name
    wide = page.viewport_size
    assert wide is not None
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    await page.set_viewport_size(wide)


async def test_a_new_owner_gets_from_a_file_and_pictures_to_a_model_that_another_trained(
    browser: Browser, models: Path, tmp_path: Path
) -> None:
    archive = real_data(PICTURES)
    with running(models / "digits", tmp_path / "data") as server:
        figures = await walk(browser, server, tmp_path, archive, looked_at)
    assert 0.0 < figures.private_test < figures.live < figures.trained
    assert figures.keras_bytes > 0
    # Probabilities of ten classes.
    assert figures.predicts == pytest.approx(1.0, abs=1e-3)
