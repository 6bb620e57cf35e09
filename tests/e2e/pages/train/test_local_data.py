"""A task that learns from volunteers' own files: chosen, checked, shown and trained on in real Chromium."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image
from playwright.async_api import Browser, Page, Request, Route, WebSocket, expect

from backend.numerics.preprocess.fitted import Image as FittedImage
from backend.numerics.preprocess.image import image_values
from tests.e2e.pages.conftest import listen
from tests.support.tasks.shapes_task import build_shapes, draw_shapes
from tests.support.web.server_process import Server, running

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

PNG = b"\x89PNG"


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task of the how-to, built as it says."""
    return build_shapes(tmp_path_factory.mktemp("tasks") / "shapes")


@pytest.fixture(scope="module")
def server(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For tests that train nothing."""
    with running(task, tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture
def training_server(task: Path, tmp_path: Path) -> Iterator[Server]:
    with running(task, tmp_path / "data") as server:
        yield server


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20 circles, 20 squares, a broken picture, and two of a class that there is not."""
    folder = tmp_path_factory.mktemp("pictures")
    draw_shapes(folder, 3, {"circle": 20, "square": 20, "triangle": 2})
    (folder / "circle" / "broken.png").write_bytes(PNG + b"and nothing more")
    return folder


async def open_training(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/tasks/shapes/train?backend=wasm")
    await expect(page.locator("[data-own-wanted]")).to_contain_text("This task needs")


async def add_folder(page: Page, folder: Path) -> None:
    await page.locator("[data-own-folder]").set_input_files(folder)


def line(page: Page) -> Any:
    return page.locator("[data-own-line]")


def sent_by(page: Page) -> tuple[list[bytes], list[bytes]]:
    """What the tab and its workers send from now on: whole requests, and frames of sockets."""
    requests: list[bytes] = []
    frames: list[bytes] = []

    def asked(request: Request) -> None:
        head = f"{request.method} {request.url} {request.headers}"
        requests.append(head.encode() + (request.post_data_buffer or b""))

    def opened(socket: WebSocket) -> None:
        socket.on("framesent", lambda data: frames.append(data if isinstance(data, bytes) else data.encode()))

    page.context.on("request", asked)
    page.on("websocket", opened)
    return requests, frames


def traces(picture: Path, fitted: FittedImage) -> list[bytes]:
    """What would give a picture away: its name, bytes of its file, a row of what the model sees of it."""
    content = picture.read_bytes()
    row = image_values(fitted, np.asarray(Image.open(picture).convert("RGBA")), 1)[8]
    scaled = row.astype(np.float32) * np.float32(0.00392156862745098)
    ends = [content[:24], content[45:69], content[-36:-12]]
    return [picture.stem.encode(), *ends, row.astype(np.uint8).tobytes(), scaled.tobytes()]


async def test_what_is_wrong_with_files_is_said_in_the_language_of_the_page(
    browser: Browser, server: Server, pictures: Path
) -> None:
    context = await browser.new_context(locale="es-PE")
    page = await context.new_page()
    await page.goto(f"{server.url}/tasks/shapes/train?backend=wasm")
    # Texts of other languages are fetched first; files given to a disabled input before that go unnoticed.
    await expect(page.locator("[data-own-folder]")).to_be_enabled()
    await add_folder(page, pictures)
    problems = page.locator("[data-own-problem-list]")
    classes = "las clases son circle y square"
    await expect(problems).to_contain_text(f"Ninguna clase se llama «triangle»; {classes}.")
    await expect(problems).to_contain_text("Quedan fuera: 2 archivos.")
    await expect(problems).to_contain_text("No se puede leer esta imagen: está dañada")
    await context.close()


async def test_files_chosen_before_the_page_knows_what_the_task_needs_are_read(
    page: Page, server: Server, pictures: Path
) -> None:
    asked, chosen = asyncio.Event(), asyncio.Event()

    async def answer_late(route: Route) -> None:
        asked.set()
        await chosen.wait()
        await route.continue_()

    await page.route("**/api/tasks/shapes/data", answer_late)
    await page.goto(f"{server.url}/tasks/shapes/train?backend=wasm")
    await asked.wait()
    await add_folder(page, pictures)
    await expect(line(page)).to_have_text("Nothing is chosen yet.")
    chosen.set()
    await expect(line(page)).to_contain_text("40 pictures ready")


@pytest.mark.long
async def test_two_volunteers_train_on_pictures_that_never_leave_them(
    browser: Browser, training_server: Server, pictures: Path
) -> None:
    server = training_server
    fitted = msgspec.convert(server.get("/api/tasks/shapes/data")["preprocess"], FittedImage)
    paths = [pictures / name / f"mine-{number}.png" for name in ("circle", "square") for number in range(20)]
    secrets = [trace for path in paths for trace in traces(path, fitted)]
    pages = [await (await browser.new_context()).new_page() for _ in range(2)]
    complaints = [listen(page) for page in pages]
    sent = [sent_by(page) for page in pages]
    for page in pages:
        await open_training(page, server)
        await expect(page.locator("[data-action=start]")).to_be_disabled()
        await expect(page.locator("[data-status-line]")).to_have_text("Choose your examples first")
        await add_folder(page, pictures)
        await expect(line(page)).to_have_text(
            "40 pictures ready: 32 to learn from, 8 kept aside to measure on."
        )
        await page.locator("[data-action=start]").click()
    for page in pages:
        await page.wait_for_function(
            "() => Number(document.querySelector('[data-accepted]').textContent) >= 2"
        )
        await expect(page.locator("[data-own-files]")).to_be_disabled()
        await page.locator("[data-action=stop]").click()
    contributions = server.get("/api/tasks/shapes/contributions")["contributions"]
    assert [one["kind"] for one in contributions] == ["browser", "browser"]
    assert all(one["accepted"] >= 2 and one["examples"] % 32 == 0 for one in contributions)
    # All that left the two devices: requests for pages and programs, and frames that hold no picture.
    for requests, frames in sent:
        assert all(request.startswith(b"GET ") for request in requests)
        assert any(b"/api/tasks/shapes/data" in request for request in requests)
        assert any(b"ready" in frame for frame in frames)
        everything = b"".join(requests) + b"".join(frames)
        assert not any(trace in everything for trace in secrets)
    assert complaints == [[], []]


async def test_what_is_wrong_is_said_with_the_file_and_what_to_do(
    page: Page, server: Server, pictures: Path
) -> None:
    await open_training(page, server)
    await add_folder(page, pictures)
    problems = page.locator("[data-own-problem-list] li")
    await expect(problems).to_have_count(2)
    await expect(problems.nth(0)).to_contain_text("triangle/: No class is called 'triangle'")
    await expect(problems.nth(0)).to_contain_text("Rename the folder")
    await expect(problems.nth(1)).to_contain_text("circle/broken.png: This picture cannot be read")
    await expect(page.locator("[data-own-counts] li")).to_have_text(["circle: 20", "square: 20"])
    await page.locator("[data-own-clear]").click()
    await expect(line(page)).to_have_text("Nothing is chosen yet.")
    await expect(page.locator("[data-own-found]")).to_be_hidden()


async def test_files_without_folders_get_the_class_that_was_chosen(
    page: Page, server: Server, pictures: Path
) -> None:
    await open_training(page, server)
    files = page.locator("[data-own-files]")
    await files.set_input_files(sorted((pictures / "square").iterdir())[:6])
    await expect(page.locator("[data-own-problem-list]")).to_contain_text("Not in a folder")
    await page.locator("[data-own-clear]").click()
    for name, done in (("circle", "Add 4 more."), ("square", "12 pictures ready")):
        await page.locator("[data-own-class]").select_option(name)
        pick = [path for path in sorted((pictures / name).iterdir()) if path.name != "broken.png"][:6]
        await files.set_input_files(pick)
        await expect(line(page)).to_contain_text(done)
    await expect(page.locator("[data-own-counts] li")).to_have_text(["circle: 6", "square: 6"])
    await expect(page.locator("[data-action=start]")).to_be_enabled()


async def test_whoever_has_files_that_take_long_to_read_can_start_once_they_are_read(
    page: Page, server: Server, pictures: Path
) -> None:
    await page.add_init_script(
        """const post = Worker.prototype.postMessage;
        Worker.prototype.postMessage = function (...given) {
          setTimeout(() => post.apply(this, given), 500);
        };"""
    )
    await open_training(page, server)
    start = page.locator("[data-action=start]")
    await add_folder(page, pictures)
    await expect(start).to_be_disabled()
    await expect(line(page)).to_contain_text("40 pictures ready")
    await expect(start).to_be_enabled()


async def test_the_preview_shows_the_very_bytes_that_python_makes(
    page: Page, server: Server, pictures: Path
) -> None:
    fitted = msgspec.convert(server.get("/api/tasks/shapes/data")["preprocess"], FittedImage)
    await open_training(page, server)
    await add_folder(page, pictures)
    shown = page.locator("[data-own-preview] canvas")
    await expect(shown).to_have_count(12)
    for canvas in await shown.all():
        path = pictures.parent / (await canvas.get_attribute("aria-label") or "")
        wanted = image_values(fitted, np.asarray(Image.open(path).convert("RGBA")), 1)
        pixels: list[int] = await canvas.evaluate(
            "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
        )
        assert np.array_equal(np.array(pixels).reshape(16, 16, 4)[..., :3], wanted)


async def test_nothing_is_kept_unless_asked_for_and_all_is_deleted_when_asked(
    page: Page, server: Server, pictures: Path
) -> None:
    await open_training(page, server)
    await add_folder(page, pictures)
    await expect(line(page)).to_contain_text("40 pictures ready")
    await open_training(page, server)
    await expect(line(page)).to_have_text("Nothing is chosen yet.")
    await add_folder(page, pictures)
    await page.locator("[data-own-keep]").check()
    kept = page.locator("[data-own-kept]")
    await expect(kept).to_contain_text("43 files are kept in this browser.")
    await open_training(page, server)
    await expect(line(page)).to_contain_text("40 pictures ready")
    await page.locator("[data-own-forget]").click()
    await expect(kept).to_be_hidden()
    await open_training(page, server)
    await expect(line(page)).to_have_text("Nothing is chosen yet.")


async def test_the_keyboard_alone_reaches_every_control(page: Page, server: Server) -> None:
    await open_training(page, server)
    # Keys reach Chromium by another channel than the request to catch the chooser, which must come first.
    async with page.expect_file_chooser() as chooser:
        await page.locator("[data-own-class]").focus()
        for control in ("own-files", "own-folder"):
            await page.keyboard.press("Tab")
            await expect(page.locator(f"[data-{control}]")).to_be_focused()
        await page.keyboard.press("Enter")
    assert await (await chooser.value).element.get_attribute("data-own-folder") is not None


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_shows_it_all(browser: Browser, server: Server, pictures: Path, scheme: str) -> None:
    dark = scheme == "dark"
    context = await browser.new_context(
        viewport={"width": 360, "height": 740}, color_scheme="dark" if dark else "light"
    )
    page = await context.new_page()
    await open_training(page, server)
    await add_folder(page, pictures)
    await expect(page.locator("[data-own-preview] canvas").first).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == 360
    await expect(page.locator("main")).to_contain_text("Your files stay on this device")
