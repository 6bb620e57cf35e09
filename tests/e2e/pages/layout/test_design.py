"""What holds on every page: readable for all, at home on small screens, light to load, and good on paper."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.pages.task.round_history import write_history
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import bring_own, write_mesh, write_task
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

TASKS = ("digits", "tiny", "mesh", "own")
ADDRESSES = (
    "/",
    "/tasks/digits",
    "/tasks/digits/train",
    "/tasks/digits/model",
    "/tasks/tiny",
    "/tasks/tiny/rounds",
    "/tasks/tiny/train",
    "/tasks/mesh",
    "/tasks/mesh/train",
    "/tasks/own",
    "/tasks/own/train",
    "/api/docs",
    "/nothing-here",
)
PHONE, SMALL, DESKTOP = (360, 740), (320, 568), (1280, 900)
# The pages that differ most from each other.
SHORT = (
    "/",
    "/tasks/digits",
    "/tasks/digits/train",
    "/tasks/tiny/rounds",
    "/tasks/mesh/train",
    "/tasks/own/train",
)
SCRIPT_BUDGET, PAINT_BUDGET = 105_000, 20_000


@pytest.fixture(scope="module")
def gallery(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the digits, a task that looks back on rounds, one in a mesh, one of own files."""
    folder = tmp_path_factory.mktemp("design")
    tasks, data = folder / "tasks", folder / "data"
    shutil.copytree(models / "digits", tasks / "digits")
    write_task(tasks / "tiny", rounds=500)
    write_mesh(tasks / "mesh")
    write_task(tasks / "own")
    bring_own(tasks / "own", 10, 200, 0.2)
    with running(tasks, data) as server:
        bundle = server.get("/api/tasks/tiny")["bundle"]
    write_history(data, bundle, 60)
    with running(tasks, data) as server:
        yield server


@asynccontextmanager
async def opened(browser: Browser, size: tuple[int, int], scheme: str = "light") -> AsyncIterator[Page]:
    """A tab of this size."""
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
    )
    yield await context.new_page()
    await context.close()


@asynccontextmanager
async def forced(browser: Browser) -> AsyncIterator[Page]:
    """A tab in which the system chooses the colours, on a dark ground."""
    context = await browser.new_context(color_scheme="dark", forced_colors="active")
    yield await context.new_page()
    await context.close()


LONG = pytest.param(ADDRESSES, marks=pytest.mark.long)
addresses_by_lane = pytest.mark.parametrize("addresses", [SHORT, LONG])


@addresses_by_lane
@pytest.mark.parametrize(
    ("size", "scheme"),
    [(PHONE, "light"), *(pytest.param(DESKTOP, one, marks=pytest.mark.long) for one in ("light", "dark"))],
)
async def test_axe_finds_nothing_serious(
    browser: Browser, gallery: Server, size: tuple[int, int], scheme: str, addresses: tuple[str, ...]
) -> None:
    async with opened(browser, size, scheme) as page:
        for address in addresses:
            await page.goto(gallery.url + address)
            await page.evaluate(
                "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
            )
            assert await findings(page) == [], address


@addresses_by_lane
async def test_colours_of_the_system_leave_edges_and_marks(
    browser: Browser, gallery: Server, addresses: tuple[str, ...]
) -> None:
    async with forced(browser) as page:
        for address in addresses:
            await page.goto(gallery.url + address)
            assert await findings(page) == [], address
            lost = await page.locator(".button:visible, .dot:visible, progress:visible").evaluate_all(
                "all => all.filter((one) => { const style = getComputedStyle(one);"
                " return style.borderTopWidth === '0px' || style.borderTopColor === 'rgb(0, 0, 0)'; })"
                ".map((one) => one.outerHTML)"
            )
            assert lost == [], address


async def test_axe_does_find_what_is_wrong(browser: Browser, gallery: Server) -> None:
    async with opened(browser, DESKTOP) as page:
        await page.goto(gallery.url)
        await page.evaluate("document.querySelector('main').append(document.createElement('input'))")
        assert [found.partition(":")[0] for found in await findings(page)] == ["label"]


@pytest.mark.parametrize("size", [SMALL, pytest.param(PHONE, marks=pytest.mark.long)])
async def test_pages_fit_small_screens_and_fingers(
    browser: Browser, gallery: Server, size: tuple[int, int]
) -> None:
    async with opened(browser, size) as page:
        for address in ADDRESSES:
            await page.goto(gallery.url + address)
            assert await page.evaluate("document.documentElement.scrollWidth") == size[0], address
            low = await page.locator(".button:visible, summary:visible, .masthead a:visible").evaluate_all(
                "all => all.filter((one) => one.getBoundingClientRect().height < 40)"
                ".map((one) => one.textContent.trim())"
            )
            assert low == [], address


@pytest.mark.parametrize("size", [SMALL, pytest.param(PHONE, marks=pytest.mark.long)])
async def test_the_thumb_reaches_the_button_wherever_one_reads(
    browser: Browser, gallery: Server, size: tuple[int, int]
) -> None:
    async with opened(browser, size) as page:
        for address in (f"/tasks/{task}{part}" for task in TASKS for part in ("", "/train")):
            await page.goto(gallery.url + address)
            for place in (0, 0.5, 1):
                await page.evaluate(f"scrollTo(0, {place} * document.documentElement.scrollHeight)")
                box = await page.locator(".reach .button").bounding_box()
                assert box is not None
                assert size[1] / 2 < box["y"] < size[1] - box["height"], (address, place)


@addresses_by_lane
async def test_little_comes_before_training_starts(
    browser: Browser, gallery: Server, addresses: tuple[str, ...]
) -> None:
    for address in addresses:
        # Each in a tab that has nothing in its cache.
        async with opened(browser, PHONE) as page:
            await page.goto(gallery.url + address, wait_until="networkidle")
            # What is drawn half a second after the page came fetches its library then.
            await page.wait_for_timeout(1000)
            kinds = await page.evaluate(
                "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
                ".map(({ name, initiatorType, transferSize }) => [name, initiatorType, transferSize])"
            )
            scripts = sum(size for name, _, size in kinds if name.partition("?")[0].endswith(".js"))
            first = sum(size for name, kind, size in kinds if kind == "navigation" or name.endswith(".css"))
            assert 0 < scripts < SCRIPT_BUDGET, f"{address}: {kinds}"
            assert 0 < first < PAINT_BUDGET, f"{address}: {kinds}"


async def never(route: Route) -> None:
    """Leaves a request without an answer."""


async def test_pages_are_read_while_their_scripts_are_still_on_the_way(
    browser: Browser, gallery: Server
) -> None:
    async with opened(browser, PHONE) as page:
        await page.route("**/*.js", never)
        for address in ADDRESSES:
            await page.goto(gallery.url + address, wait_until="commit")
            await expect(page.locator("h1").first).to_be_visible()
            await expect(page.locator("footer")).to_be_visible()


async def test_on_paper_there_is_nothing_to_press(browser: Browser, gallery: Server) -> None:
    async with opened(browser, DESKTOP, "dark") as page:
        await page.emulate_media(media="print")
        for address in ADDRESSES:
            await page.goto(gallery.url + address)
            await expect(page.locator("h1").first).to_be_visible()
            await expect(page.locator(".button:visible, nav:visible")).to_have_count(0)
            ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == "rgb(255, 255, 255)", address


async def test_others_are_invited_by_an_address_to_copy(browser: Browser, gallery: Server) -> None:
    async with opened(browser, SMALL) as page:
        await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for address in ("/tasks/digits", "/tasks/digits/train", "/tasks/mesh/train"):
            await page.goto(gallery.url + address)
            button = page.get_by_role("button", name="Invite others")
            await button.click()
            dialog = page.get_by_role("dialog", name="Invite others")
            await expect(dialog).to_contain_text("works on this computer only")
            assert await findings(page) == [], address
            await dialog.get_by_role("button", name="Copy").click()
            await expect(page.locator("[data-toast]")).to_have_text("The address is copied.")
            copied = await page.evaluate("navigator.clipboard.readText()")
            target = gallery.url + address.removesuffix("/train") + "/train"
            assert copied == target
            code = dialog.get_by_role("img", name="The address as a QR code")
            await expect(code).to_have_js_property("complete", value=True)
            assert await code.evaluate("code => code.naturalWidth") > 0
            await dialog.get_by_text("Put it on your web page").click()
            await dialog.get_by_role("button", name="Copy the link").click()
            copied = await page.evaluate("navigator.clipboard.readText()")
            assert copied.startswith(f'<a href="{target}">Help train “')
            assert await findings(page) == [], address
            await page.keyboard.press("Escape")
            await expect(dialog).to_be_hidden()
            await expect(button).to_be_focused()
