"""The training page of a task that requires, or prefers, the same bits on every device."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from backend.formats.pins import pin_bundle
from tests.e2e.pages.conftest import listen
from tests.e2e.pages.train.digits_units import write_units
from tests.support.browser.axe import findings
from tests.support.tasks.pinned_task import built_program
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

# As a page that was opened before the server's program changed.
OLD_PAGE = """document.addEventListener("readystatechange", () => {
  const root = document.querySelector("[data-program]");
  if (root) root.dataset.program = "0".repeat(64);
})"""


@pytest.fixture(scope="module")
def exact_server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose task `digits` requires the same bits, and whose task `units` prefers them."""
    folder = tmp_path_factory.mktemp("exact")
    shutil.copytree(models / "digits", folder / "tasks" / "digits", ignore=shutil.ignore_patterns("*.py"))
    pin_bundle(folder / "tasks" / "digits" / "built" / "bundle", built_program())
    write_units(models / "digits", folder / "tasks" / "units")
    file = folder / "tasks" / "units" / "task.toml"
    file.write_text(file.read_text("utf-8").replace('name = "digits"', 'name = "units"', 1), "utf-8")
    flags = (
        "--set",
        "digits.training.exact=required",
        "--set",
        "digits.coordination.min_available_clients=1",
    )
    with running(folder / "tasks", folder / "data", *flags) as server:
        assert server.report["problems"] == {}
        yield server


async def test_the_page_computes_the_same_bits_by_itself_and_says_what_that_costs(
    exact_server: Server, page: Page
) -> None:
    await page.goto(f"{exact_server.url}/tasks/digits/train?backend=webgl")
    await expect(page.locator("[data-exact-note]")).to_contain_text("not with its graphics processor")
    await expect(page.locator("[data-exact-note]")).to_contain_text("laptop")
    await expect(page.locator("[data-backends]")).to_have_count(0)
    assert await findings(page) == []
    await page.locator("[data-action=start]").click()
    await expect(page.locator("[data-backend]").first).to_have_text("WASM, exact")
    await expect(page.locator("[data-accepted]")).not_to_have_text("0")
    await page.locator("[data-action=stop]").click()


async def test_a_page_from_before_an_update_is_told_to_be_loaded_again(
    exact_server: Server, browser: Browser
) -> None:
    page = await browser.new_page()
    complaints = listen(page)
    await page.add_init_script(OLD_PAGE)
    await page.goto(f"{exact_server.url}/tasks/digits/train")
    await page.locator("[data-action=start]").click()
    await expect(page.locator("[data-status-hint]")).to_contain_text("a different program. Reload the page.")
    await expect(page.locator("[data-action=start]")).to_be_visible()
    assert complaints == []


async def test_where_the_same_bits_are_preferred_they_are_one_choice_of_several(
    exact_server: Server, page: Page
) -> None:
    await page.goto(f"{exact_server.url}/tasks/units/train")
    await expect(page.locator("[data-exact-note]")).to_have_count(0)
    radios = page.locator("[data-backends] input")
    chosen = await radios.evaluate_all("all => all.map(({ value, checked }) => [value, checked])")
    assert [value for value, _ in chosen] == ["auto", "webgpu", "webgl", "wasm", "exact", "cpu"]
    assert [value for value, checked in chosen if checked] == ["auto"]


async def test_where_the_same_bits_are_preferred_a_page_without_a_graphics_processor_computes_them(
    exact_server: Server, page: Page
) -> None:
    await page.goto(f"{exact_server.url}/tasks/units/train")
    await page.locator("[data-action=start]").click()
    await expect(page.locator("[data-backend]").first).to_have_text("WASM, exact")
    await page.locator("[data-action=stop]").click()
