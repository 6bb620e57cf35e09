"""People try the models of the gallery: with a row, a picture, or a text to go on with."""

from __future__ import annotations

import io
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from PIL import Image
from playwright.async_api import Browser, FilePayload, Page, expect

from tests.e2e.pages.conftest import listen
from tests.e2e.pages.task.canvas_drawing import chances
from tests.support.browser.axe import findings
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

TASKS = ("titanic", "cifar10", "shakespeare")


@pytest.fixture(scope="module")
def gallery(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("trying")
    for task in TASKS:
        assert (models / task / "built/bundle").exists(), "The gallery is not built; run `make build` first."
        shutil.copytree(models / task, folder / "tasks" / task)
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A large phone's tab, whose sections are open; errors, warnings and refused addresses fail the test."""
    page = await browser.new_page(viewport={"width": 700, "height": 740})
    complaints = listen(page)
    yield page
    assert complaints == []


def picture(name: str) -> FilePayload:
    """A photo: a red block on green under blue."""
    image = Image.new("RGB", (140, 90), (90, 150, 230))
    image.paste((60, 120, 50), (0, 45, 140, 90))
    image.paste((200, 40, 40), (40, 30, 100, 60))
    content = io.BytesIO()
    image.save(content, "PNG")
    return {"name": name, "mimeType": "image/png", "buffer": content.getvalue()}


async def is_well(page: Page) -> bool:
    """Whether the page is no wider than the phone, and readable for all."""
    assert await findings(page) == []
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


async def test_a_row_is_filled_in_already_and_answered_with_chances(page: Page, gallery: Server) -> None:
    await page.goto(f"{gallery.url}/tasks/titanic")
    ask = page.get_by_role("button", name="Ask the model")
    await ask.click()
    await expect(page.locator("[data-guess]")).to_contain_text("survive")
    alone = await chances(page)
    assert sum(alone) == pytest.approx(1, abs=1e-5)
    await page.get_by_label("Class").select_option("1")
    await page.get_by_label("Age").fill("")
    await ask.click()
    await page.wait_for_function(
        "was => document.querySelector('[data-answers] progress').value !== was", arg=alone[0]
    )
    assert await is_well(page)


async def test_a_row_with_something_wrong_is_told_which_column_it_is(page: Page, gallery: Server) -> None:
    await page.goto(f"{gallery.url}/tasks/titanic")
    siblings = page.get_by_label("Siblings, spouses")
    guess = page.locator("[data-guess]")
    await siblings.fill("two")
    await siblings.press("Enter")
    await expect(guess).to_contain_text("Column 'SibSp': 'two' is no number; write it like 12 or 3.5.")
    await siblings.fill("")
    await siblings.press("Enter")
    await expect(guess).to_contain_text("Column 'SibSp': it is empty, and this column must not be.")


async def test_a_picture_is_shown_as_the_model_gets_it(page: Page, gallery: Server) -> None:
    await page.goto(f"{gallery.url}/tasks/cifar10")
    chooser, guess = page.locator("[data-picture]"), page.locator("[data-guess]")
    await chooser.set_input_files(picture("block.png"))
    await expect(guess).to_contain_text("It says")
    assert len(await chances(page)) == 10
    assert sum(await chances(page)) == pytest.approx(1, abs=1e-5)
    seen = page.locator("[data-canvas]")
    await expect(seen).to_be_visible()
    assert await seen.evaluate("canvas => [canvas.width, canvas.height]") == [32, 32]
    middle = await seen.evaluate("canvas => [...canvas.getContext('2d').getImageData(16, 16, 1, 1).data]")
    assert middle == [200, 40, 40, 255]
    assert await is_well(page)
    await chooser.set_input_files({"name": "cat.png", "mimeType": "image/png", "buffer": b"no picture"})
    await expect(guess).to_contain_text("This picture cannot be read")


async def test_a_text_goes_on_letter_by_letter_until_it_is_stopped(page: Page, gallery: Server) -> None:
    await page.goto(f"{gallery.url}/tasks/shakespeare")
    await page.get_by_label("A beginning").fill("ROMEO: 7 ")
    await page.get_by_label("How much more").fill("2000")
    await page.get_by_role("button", name="Go on with it").click()
    written = page.locator("[data-answers] .written")
    await page.wait_for_function("() => document.querySelector('.written')?.textContent.length >= 13")
    await page.get_by_role("button", name="Stop").click()
    await expect(page.locator("[data-guess]")).to_have_text("Written.")
    assert 13 <= len(await written.inner_text()) < 2000
    await expect(page.locator("[data-lacking]")).to_contain_text("does not know it: 7")
    assert await is_well(page)
    await page.get_by_label("A beginning").fill("7")
    await page.get_by_role("button", name="Go on with it").click()
    await expect(page.locator("[data-guess]")).to_contain_text("no word or letter in it that the task knows")
