"""Gallery and task page: complete without scripts, at home on every screen, and the model to try."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable
from urllib.request import Request, urlopen

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.pages.conftest import MODELS, listen
from tests.e2e.pages.task.canvas_drawing import chances, draw_circle, drawing_area
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server

pytestmark = pytest.mark.browser

ADDRESSES = ("/", "/tasks/digits", "/tasks/digits/model", "/tasks/digits/train", "/nothing-here")


async def test_without_scripts_the_pages_say_everything(browser: Browser, idle_server: Server) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(idle_server.url)
    card = page.locator(".task-card")
    await expect(card).to_contain_text("Handwritten digits")
    await expect(card).to_contain_text("Waiting for the first volunteer")
    await expect(card).to_contain_text("0 of 50")
    await card.locator("h3 a").click()
    for text in ("What it costs you", "What you reveal", "Who has helped", "CC BY 4.0"):
        await expect(page.locator("main")).to_contain_text(text)
    await expect(page.locator("tr[data-version='0']")).to_be_visible()
    await page.get_by_role("link", name="Take part").click()
    await expect(page.locator("[data-action=start]")).to_be_disabled()
    # Chromium's emulation shows no <noscript>, so only its presence can be seen here.
    assert "Training needs JavaScript" in await page.content()


async def test_pages_and_their_scripts_speak_spanish_to_those_who_ask_for_it(
    browser: Browser, idle_server: Server
) -> None:
    context = await browser.new_context(locale="es-PE")
    page = await context.new_page()
    complaints = listen(page)
    await page.goto(f"{idle_server.url}/tasks/digits/train")
    await expect(page.locator("html")).to_have_attribute("lang", "es")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Participar")
    # The server's sentence says how the task stands, too; the script's does not.
    await expect(page.locator("[data-status-hint]")).to_have_text(
        "Pulsa el botón y tu dispositivo se suma a la próxima ronda."
    )
    await expect(page.locator("[data-action]")).to_be_enabled()
    assert complaints == []


async def test_the_model_page_says_what_the_model_asks_of_a_device(page: Page, idle_server: Server) -> None:
    await page.goto(f"{idle_server.url}/tasks/digits")
    await page.get_by_role("link", name="what the model requires of a device").click()
    times = page.locator("tr[data-backend]")
    await expect(times).to_have_count(6)
    await expect(times.filter(has_text="WebAssembly").locator("td").first).to_contain_text("ms")
    await expect(page.locator("main")).to_contain_text("Every backend can train this model")
    layers = page.get_by_role("region", name="Layers").locator("tbody tr")
    assert [await row.locator("th").inner_text() for row in await layers.all()] == [
        "conv_1",
        "conv_2",
        "pool",
        "flatten",
        "dropout",
        "digit",
    ]
    await expect(layers.first).to_contain_text("8 × 8 × 16")
    await page.get_by_text("What the arithmetic is").click()
    operations = page.get_by_role("region", name="Operations of one step")
    await expect(operations.get_by_role("rowheader", name="MatMul", exact=True)).to_be_visible()
    for text in ("Memory at once", "Programs, once, at most", "Examples for a round"):
        await expect(page.locator("main")).to_contain_text(text)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (360, "light"),
        (1280, "dark"),
        pytest.param(360, "dark", marks=pytest.mark.long),
        pytest.param(1280, "light", marks=pytest.mark.long),
    ],
)
async def test_no_page_is_wider_than_its_screen(
    browser: Browser, idle_server: Server, width: int, scheme: str
) -> None:
    dark = scheme == "dark"
    context = await browser.new_context(
        viewport={"width": width, "height": 740}, color_scheme="dark" if dark else "light"
    )
    page = await context.new_page()
    grounds = set()
    for address in ADDRESSES:
        await page.goto(idle_server.url + address)
        assert await page.evaluate("document.documentElement.scrollWidth") == width, address
        grounds.add(await page.evaluate("getComputedStyle(document.body).backgroundColor"))
    [ground] = grounds
    brightness = sum(int(part) for part in ground.removeprefix("rgb(").rstrip(")").split(","))
    assert (brightness < 200) is dark


@pytest.mark.long
async def test_the_gallery_stays_fresh_by_itself(browser: Browser, server: Server) -> None:
    context = await browser.new_context()
    gallery, volunteer = await context.new_page(), await context.new_page()
    complaints = [*listen(gallery), *listen(volunteer)]
    await gallery.goto(server.url)
    await volunteer.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await volunteer.locator("[data-action=start]").click()
    # A background tab does not refresh, so the gallery is the one in front.
    await gallery.bring_to_front()
    await expect(gallery.locator(".figures dd").first).to_have_text("1")
    assert complaints == []


async def test_the_model_looks_at_a_drawing_before_any_training(page: Page, idle_server: Server) -> None:
    await page.goto(f"{idle_server.url}/tasks/digits")
    await draw_circle(page)
    await expect(page.locator("[data-guess]")).to_contain_text("It says")
    seen = await chances(page)
    assert len(seen) == 10
    assert sum(seen) == pytest.approx(1, abs=1e-3)
    await page.locator("[data-clear]").click()
    await expect(page.locator("[data-guess]")).to_contain_text("Draw one digit")
    await expect(page.locator("[data-answers] progress")).to_have_count(0)


async def test_a_page_that_moves_under_the_finger_bends_no_stroke(page: Page, idle_server: Server) -> None:
    await page.goto(f"{idle_server.url}/tasks/digits")
    canvas = page.locator("[data-trial] [data-canvas]")

    async def drawn(halfway: Callable[[], Awaitable[object]] | None = None) -> list[float]:
        await page.locator("[data-clear]").click()
        await expect(page.locator("[data-answers] progress")).to_have_count(0)
        await draw_circle(page, halfway)
        await expect(page.locator("[data-answers] progress")).to_have_count(10)
        return await chances(page)

    still = await drawn()
    moved = await drawn(lambda: canvas.evaluate("canvas => { canvas.style.marginTop = '60px'; }"))
    assert moved == pytest.approx(still, abs=1e-5)


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
async def test_what_a_training_tells_does_not_push_the_drawing_away(
    page: Page, idle_server: Server, width: int
) -> None:
    await page.set_viewport_size({"width": width, "height": 844})
    await page.goto(f"{idle_server.url}/tasks/digits/train")
    # The curves are drawn by then.
    await page.wait_for_load_state("networkidle")
    canvas = await drawing_area(page)
    await canvas.hover()
    before = await canvas.bounding_box()
    card = page.locator("[data-mistakes]")
    await expect(card).to_be_hidden()
    await card.evaluate("card => { card.hidden = false; card.style.minHeight = '1200px'; }")
    await expect(card).to_be_visible()
    after = await canvas.bounding_box()
    assert before is not None
    assert after is not None
    assert after["y"] == pytest.approx(before["y"], abs=2)


async def test_a_drawn_zero_is_a_zero_after_some_rounds_and_one_s_own_update_is_compared(
    page: Page, server: Server
) -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await draw_circle(page)
    await expect(page.locator("[data-answers] h3")).to_have_count(0)
    await page.locator("[data-action=start]").click()
    await page.wait_for_function("() => Number(document.querySelector('[data-accepted]').textContent) >= 6")
    await page.locator("[data-action=stop]").click()
    # What was asked before is answered anew after each update of this device.
    headings = page.locator("[data-answers] h3")
    await expect(headings).to_have_text(["Before your update", "With your update"])
    await draw_circle(page)
    await expect(page.locator("[data-guess]")).to_have_text(
        re.compile(r"Before your update it said \d, .* sure; with it, \d, .* sure\.")
    )
    seen = await chances(page)
    assert len(seen) == 20
    assert seen[:10] != seen[10:]
    await page.goto(f"{server.url}/tasks/digits")
    await draw_circle(page)
    await expect(page.locator("[data-guess]")).to_contain_text("It says 0")


def test_programs_of_the_page_come_compressed(idle_server: Server) -> None:
    for built in (MODELS.parent / "webapp/static/dist/assets").glob("*.wasm"):
        address = f"{idle_server.url}/static/dist/assets/{built.name}"
        with urlopen(Request(address, headers={"Accept-Encoding": "gzip"}), timeout=PATIENCE) as answer:
            sent = answer.read()
        assert answer.headers["Content-Encoding"] == "gzip"
        assert "immutable" in answer.headers["Cache-Control"]
        assert gzip.decompress(sent) == built.read_bytes()
        assert len(sent) < 0.6 * built.stat().st_size
