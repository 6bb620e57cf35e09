"""Volunteers collect examples on the training page by camera, microphone, pen and keys: nothing is sent."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.e2e.pages.conftest import listen
from tests.support.browser.axe import findings
from tests.support.browser.chromium import FAKE_CAMERA, launch
from tests.support.tasks.shapes_task import build_shapes, build_words
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

# An example has 64 characters and the one that follows.
TYPED = "Thank you for your help, and see you tomorrow. Bring what you have of it."


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The tasks of pictures and of recordings of the how-tos, and one of texts."""
    folder = tmp_path_factory.mktemp("tasks")
    build_shapes(folder / "shapes")
    build_words(folder / "words")
    shutil.copytree(models / "shakespeare", folder / "shakespeare")
    with running(folder, tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def camera(browser: Browser) -> AsyncIterator[Browser]:
    """A browser with a camera that shows a moving picture and a microphone that hears beeps, both allowed.

    `browser`, which has none, brings the event loop.
    """
    async with async_playwright() as playwright:
        browser = await launch(playwright, FAKE_CAMERA)
        yield browser
        await browser.close()


async def opened(page: Page, server: Server, task: str = "shapes") -> list[str]:
    """The tools of the page; what the page asks of the server from then on."""
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    await page.goto(f"{server.url}/tasks/{task}/train?backend=wasm")
    await expect(page.locator("[data-own-wanted]")).to_contain_text("This task needs")
    # Who only has files does not fetch the tools.
    assert not any("/collector-" in one for one in asked)
    await page.locator("[data-collect-open]").click()
    await expect(page.locator("[data-collect-tools]")).to_be_visible()
    assert any("/collector-" in one for one in asked)
    asked.clear()
    page.on("websocket", lambda socket: asked.append(socket.url))
    return asked


def sent(asked: list[str]) -> list[str]:
    """What left the device: not the pictures that the page shows from its own memory."""
    return [one for one in asked if not one.startswith("GET blob:")]


def line(page: Page) -> Any:
    return page.locator("[data-own-line]")


async def test_pictures_of_a_camera_are_examples_like_files_and_never_leave(
    camera: Browser, server: Server
) -> None:
    page = await camera.new_page()
    complaints = listen(page)
    asked = await opened(page, server)
    await page.get_by_role("button", name="Turn the camera on").click()
    shoot = page.locator("[data-collect-shoot]")
    await shoot.click()
    await expect(page.locator("[data-collect-line]")).to_have_text("1 example of circle was added.")
    await page.locator("[data-collect-class]").select_option("square")
    # Held, the button takes several pictures.
    await shoot.hover()
    await page.mouse.down()
    await page.wait_for_timeout(1500)
    await page.mouse.up()
    await expect(page.locator("[data-collect-line]")).to_contain_text("examples of square were added.")
    shown = page.locator("[data-collect-grid] li")
    taken = await shown.count()
    assert taken >= 3
    await expect(page.locator("[data-own-counts] li")).to_have_text(["circle: 1", f"square: {taken - 1}"])
    await expect(page.locator("[data-own-preview] canvas")).to_have_count(taken)
    # One is deleted, as if it had never been taken.
    await shown.filter(has_text="circle").get_by_role("button", name="Delete").click()
    await expect(shown).to_have_count(taken - 1)
    await expect(page.locator("[data-own-counts] li").first).to_have_text("circle: 0")
    assert await findings(page) == []
    await page.get_by_role("button", name="Turn the camera off").click()
    live = "document.querySelector('[data-collect-video]').srcObject"
    assert await page.evaluate(live) is None
    assert sent(asked) == []
    assert complaints == []


async def test_recordings_of_a_microphone_are_examples_like_files_and_never_leave(
    camera: Browser, server: Server
) -> None:
    page = await camera.new_page()
    complaints = listen(page)
    asked = await opened(page, server, "words")
    await expect(page.locator("[data-collect-pictures]")).to_be_hidden()
    await page.get_by_role("button", name="Turn the microphone on").click()
    record = page.locator("[data-collect-record]")
    await record.click()
    await expect(page.locator("[data-collect-line]")).to_have_text("1 example of no was added.")
    await page.locator("[data-collect-class]").select_option("yes")
    # Held, the button records several examples, one after the other.
    await record.hover()
    await page.mouse.down()
    await expect(page.locator("[data-collect-line]")).to_have_text("Recording example 2: now.")
    await page.mouse.up()
    await expect(page.locator("[data-collect-line]")).to_have_text("2 examples of yes were added.")
    await expect(page.locator("[data-own-counts] li")).to_have_text(["no: 1", "yes: 2"])
    shown = page.locator("[data-collect-grid] li")
    await expect(shown).to_have_count(3)
    # The beeps are in the picture, and can be heard.
    levels = "canvas => new Set(canvas.getContext('2d').getImageData(0, 0, 98, 40).data).size"
    assert await shown.locator("canvas").first.evaluate(levels) > 50
    await expect(page.locator("[data-own-preview] canvas")).to_have_count(3)
    await shown.first.get_by_role("button", name="Play").click()
    await shown.filter(has_text="no").get_by_role("button", name="Delete").click()
    await expect(page.locator("[data-own-counts] li").first).to_have_text("no: 0")
    assert await findings(page) == []
    await page.get_by_role("button", name="Turn the microphone off").click()
    await expect(record).to_be_hidden()
    assert sent(asked) == []
    assert complaints == []


async def test_a_missing_microphone_says_what_to_do(browser: Browser, server: Server) -> None:
    page = await browser.new_page()
    await opened(page, server, "words")
    await page.get_by_role("button", name="Turn the microphone on").click()
    await expect(page.locator("[data-collect-sound-problem]")).to_contain_text("or add files.")


async def test_a_drawing_is_an_example_and_a_blocked_camera_says_what_to_do(
    browser: Browser, server: Server
) -> None:
    page = await browser.new_page()
    asked = await opened(page, server)
    await page.get_by_role("button", name="Turn the camera on").click()
    await expect(page.locator("[data-collect-problem]")).to_contain_text("or draw, or add files.")
    await page.get_by_role("button", name="Add the drawing").click()
    await expect(page.locator("[data-collect-line]")).to_have_text("Nothing is drawn yet.")
    pad = page.locator("[data-collect-canvas]")
    await pad.scroll_into_view_if_needed()
    box = await pad.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 60, box["y"] + 60)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 180, box["y"] + 160, steps=5)
    await page.mouse.up()
    await page.get_by_role("button", name="Add the drawing").click()
    await expect(page.locator("[data-own-counts] li")).to_have_text(["circle: 1", "square: 0"])
    await expect(line(page)).to_contain_text("at least 10")
    assert sent(asked) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360


async def test_a_typed_text_is_an_example(browser: Browser, server: Server) -> None:
    page = await browser.new_page()
    asked = await opened(page, server, "shakespeare")
    await expect(page.locator("[data-collect-pictures]")).to_be_hidden()
    await expect(page.locator("[data-collect-classes]")).to_be_hidden()
    add = page.get_by_role("button", name="Add the text")
    await add.click()
    await expect(page.locator("[data-collect-line]")).to_have_text("Nothing is typed yet.")
    await page.get_by_label("Text of the next example").fill(TYPED)
    await add.click()
    await expect(page.locator("[data-collect-grid] q")).to_have_text(TYPED)
    await expect(line(page)).to_contain_text("1 passage ready")
    await page.locator("[data-collect-grid]").get_by_role("button", name="Delete").click()
    await expect(line(page)).to_have_text("Nothing is chosen yet.")
    assert sent(asked) == []


def policy(server: Server, path: str) -> str:
    with urlopen(server.url + path, timeout=PATIENCE) as answer:
        return str(answer.headers["Permissions-Policy"])


async def test_only_training_pages_that_collect_may_ask_for_camera_or_microphone(server: Server) -> None:
    assert policy(server, "/tasks/shapes/train").startswith("camera=(self), microphone=(),")
    assert policy(server, "/tasks/words/train").startswith("camera=(), microphone=(self),")
    for path in ("/tasks/shakespeare/train", "/tasks/shapes", "/"):
        assert policy(server, path) == "camera=(), microphone=(), geolocation=()"
