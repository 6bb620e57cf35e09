"""Gallery and task page: complete without scripts, at home on every screen, and the model to try."""

from __future__ import annotations

import gzip
import math
from urllib.request import Request, urlopen

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import MODELS, listen
from tests.web.running import Server

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


async def test_the_model_page_says_what_the_model_asks_of_a_device(page: Page, idle_server: Server) -> None:
    await page.goto(f"{idle_server.url}/tasks/digits")
    await page.get_by_role("link", name="what the model asks of a device").click()
    times = page.locator("tr[data-backend]")
    await expect(times).to_have_count(6)
    await expect(times.filter(has_text="WebAssembly").locator("td").first).to_contain_text("ms")
    await expect(page.locator("main")).to_contain_text("Nothing is in the way of any backend")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
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


async def test_the_gallery_stays_fresh_by_itself(browser: Browser, server: Server) -> None:
    context = await browser.new_context()
    gallery, volunteer = await context.new_page(), await context.new_page()
    complaints = [*listen(gallery), *listen(volunteer)]
    await gallery.goto(server.url)
    await volunteer.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await volunteer.locator("[data-action=start]").click()
    # A background tab does not refresh, so the gallery is the one in front.
    await gallery.bring_to_front()
    await expect(gallery.locator(".figures dd").first).to_have_text("1", timeout=30_000)
    assert complaints == []


async def test_the_model_looks_at_a_drawing_before_any_training(page: Page, idle_server: Server) -> None:
    await page.goto(f"{idle_server.url}/tasks/digits")
    await draw_circle(page)
    await expect(page.locator("[data-guess]")).to_contain_text("It sees", timeout=60_000)
    chances: list[float] = await page.locator("[data-bars] progress").evaluate_all(
        "bars => bars.map((bar) => bar.value)"
    )
    assert len(chances) == 10
    assert sum(chances) == pytest.approx(1, abs=1e-3)
    await page.locator("[data-clear]").click()
    await expect(page.locator("[data-guess]")).to_contain_text("Draw one digit")


async def test_a_drawn_zero_is_a_zero_after_some_rounds(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await page.locator("[data-action=start]").click()
    await page.wait_for_function(
        "() => Number(document.querySelector('[data-accepted]').textContent) >= 6", timeout=60_000
    )
    await page.locator("[data-action=stop]").click()
    await page.goto(f"{server.url}/tasks/digits")
    await draw_circle(page)
    await expect(page.locator("[data-guess]")).to_contain_text("It sees 0", timeout=60_000)


async def draw_circle(page: Page) -> None:
    canvas = page.locator("[data-canvas]")
    await canvas.scroll_into_view_if_needed()
    box = await canvas.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    points = [
        (x + 45 * math.sin(turn), y - 75 * math.cos(turn)) for turn in (k * math.tau / 24 for k in range(25))
    ]
    await page.mouse.move(*points[0])
    await page.mouse.down()
    for point in points[1:]:
        await page.mouse.move(*point)
    await page.mouse.up()


def test_programs_of_the_page_come_compressed(idle_server: Server) -> None:
    for built in (MODELS.parent / "webapp/static/dist/assets").glob("*.wasm"):
        address = f"{idle_server.url}/static/dist/assets/{built.name}"
        with urlopen(Request(address, headers={"Accept-Encoding": "gzip"}), timeout=10) as answer:
            sent = answer.read()
        assert answer.headers["Content-Encoding"] == "gzip"
        assert "immutable" in answer.headers["Cache-Control"]
        assert gzip.decompress(sent) == built.read_bytes()
        assert len(sent) < 0.6 * built.stat().st_size
