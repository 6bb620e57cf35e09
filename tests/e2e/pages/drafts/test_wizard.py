"""The first steps of the wizard in a real browser: a draft is begun, its files arrive through cuts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Dialog, Page, Route, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.support.browser.axe import findings
from tests.support.tasks.owner_files import pictures
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, free_port
from tests.support.web.visitors import Visitor

ROWS = "".join(f"{number},{number % 7},{'yes' if number % 3 else 'no'}\n" for number in range(200_000))
TABLE = f"age,days,answer\n{ROWS}".encode()


@pytest.fixture(scope="module")
def server(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that is always found at the same place, so that a page outlives its restart."""
    folder = tmp_path_factory.mktemp("wizard")
    write_task(folder / "tasks" / "tiny")
    server = Server(folder / "tasks", folder / "data", "--port", str(free_port()))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, ann: Visitor) -> BrowserContext:
    """Ann's browser."""
    made = await browser.new_context(viewport={"width": 1280, "height": 900})
    await sign_in(made, ann)
    return made


async def begun(page: Page, server: Server, title: str) -> str:
    """A draft that was begun on the list; its address."""
    await page.goto(f"{server.url}/drafts")
    await page.get_by_label("Title").fill(title)
    await page.get_by_role("button", name="Begin").click()
    await page.wait_for_url("**/drafts/*/model")
    return page.url.removesuffix("/model")


async def looked_at(page: Page) -> None:
    """axe finds nothing serious, and nothing sticks out of a phone."""
    assert await findings(page) == []
    size = page.viewport_size
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    if size is not None:
        await page.set_viewport_size(size)


async def test_drafts_are_listed_continued_and_deleted(
    context: BrowserContext, server: Server, ann: Visitor
) -> None:
    for one in ann.ask("GET", "/api/drafts")["drafts"]:
        ann.ask("DELETE", f"/api/drafts/{one['id']}")
    page = await context.new_page()
    complaints = listen(page)
    await page.goto(f"{server.url}/drafts")
    await expect(page.get_by_text("You have no drafts.")).to_be_visible()
    draft = await begun(page, server, "Cats & dögs")
    await expect(page.get_by_role("heading", name="Cats & dögs")).to_be_visible()
    await expect(page.get_by_role("navigation", name="Steps").get_by_role("link")).to_have_count(8)
    await looked_at(page)
    await page.goto(server.url)
    await page.get_by_role("link", name="Your drafts").click()
    await expect(page.get_by_text("Next: Bring the model.")).to_be_visible()
    await looked_at(page)
    await page.get_by_role("link", name="Continue").click()
    await page.wait_for_url(f"{draft}/model")
    await page.get_by_role("link", name="Your drafts").first.click()
    page.once("dialog", lambda dialog: dialog.accept())
    await page.get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("You have no drafts.")).to_be_visible()
    assert complaints == []


async def test_a_file_that_is_none_is_refused_by_a_sentence(context: BrowserContext, server: Server) -> None:
    page = await context.new_page()
    draft = await begun(page, server, "Refused")
    choose = page.get_by_label("Choose a model")
    await choose.set_input_files({"name": "m.pkl", "mimeType": "", "buffer": b"\x80\x04."})
    await expect(page.get_by_role("alert").first).to_contain_text("a pickle, which is a program")
    await choose.set_input_files({"name": "m.keras", "mimeType": "", "buffer": b"<html>" + b"x" * 100})
    await expect(page.get_by_role("alert").first).to_contain_text("does not begin like a .keras file")
    await page.goto(f"{draft}/data")
    await page.get_by_label("Choose the data").set_input_files(
        {"name": "d.csv", "mimeType": "", "buffer": b"a\n"}
    )
    await expect(page.get_by_text("The table has no row of examples").first).to_be_visible()
    await expect(page.get_by_role("button", name="Inspect them again")).to_be_visible()
    await looked_at(page)


async def test_pictures_are_looked_at_as_soon_as_they_are_here(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    page = await context.new_page()
    draft = await begun(page, server, "Pictures")
    await page.goto(f"{draft}/data")
    await page.get_by_label("Choose the data").set_input_files(pictures(tmp_path / "cats.zip", 6, 4))
    await expect(page.get_by_text("Found 10 pictures of 2 classes: cat, dog.")).to_be_visible()
    # Volunteers' own pictures are read as the sample is.
    await page.get_by_label("Volunteers bring their own").check()
    await expect(page.get_by_label("Classes, one per line")).to_have_value("cat\ndog")
    await expect(page.locator("[data-saved]")).to_contain_text("Saved")
    await page.reload()
    await expect(page.get_by_label("Volunteers bring their own")).to_be_checked()
    await looked_at(page)


async def test_an_upload_outlives_its_page_and_the_server(
    context: BrowserContext, server: Server, tmp_path: Path
) -> None:
    file, other = tmp_path / "people.csv", tmp_path / "others.csv"
    file.write_bytes(TABLE)
    other.write_bytes(TABLE[::-1])
    page = await context.new_page()
    draft = await begun(page, server, "Cut off")

    async def two_pieces(route: Route) -> None:
        """Lets the first two pieces through; then nothing comes out of this network."""
        if route.request.method == "PATCH" and int(route.request.headers["upload-offset"]) >= 2 << 20:
            await route.abort()
        else:
            await route.continue_()

    await page.goto(f"{draft}/data")
    await page.route("**/files/data/*", two_pieces)
    await page.get_by_label("Choose the data").set_input_files(file)
    await expect(page.get_by_text("people.csv: the connection is lost.")).to_be_visible()
    # The server first: what a page that is closed still had to send goes past its routes.
    server.stop(signal.SIGKILL)
    await page.close()
    server.start()

    page = await context.new_page()
    await page.goto(f"{draft}/data")
    await expect(page.get_by_text("people.csv was cut off: 2.1 MB of")).to_be_visible()
    choose = page.get_by_label("Choose the data")
    await choose.set_input_files(other)
    await expect(page.get_by_text("others.csv has changed since")).to_be_visible()
    await expect(page.get_by_role("button", name="Start over with this file")).to_be_visible()
    pieces: list[int] = []
    page.on(
        "request",
        lambda request: (
            pieces.append(int(request.headers["upload-offset"])) if request.method == "PATCH" else None
        ),
    )
    await choose.set_input_files(file)
    await expect(page.get_by_text("Found 200 000 rows of a table with 3 columns.")).to_be_visible()
    # Only what was missing came.
    assert min(pieces) == 2 << 20


async def test_an_upload_is_paused_guarded_and_cancelled(
    context: BrowserContext, server: Server, ann: Visitor, tmp_path: Path
) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(TABLE)
    page = await context.new_page()
    draft = await begun(page, server, "Paused")
    held: list[Route] = []

    async def hold(route: Route) -> None:
        """The first piece waits until the test lets it through."""
        if route.request.method == "PATCH" and not held:
            held.append(route)
        else:
            await route.continue_()

    await page.goto(f"{draft}/data")
    await page.route("**/files/data/*", hold)
    await page.get_by_label("Choose the data").set_input_files(file)
    await expect(page.get_by_text("people.csv is on its way.")).to_be_visible()
    # Whoever leaves now is asked.
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def stay(dialog: Dialog) -> None:
        asked.put_nowait(dialog.type)
        await dialog.dismiss()

    page.on("dialog", stay)
    await page.get_by_role("link", name="Your drafts").first.click(no_wait_after=True)
    async with asyncio.timeout(PATIENCE):
        assert await asked.get() == "beforeunload"
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("people.csv: paused.")).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("people.csv is here:")).to_be_visible()
    # Another one that is cancelled leaves the file that was here.
    held.clear()
    await page.get_by_label("Choose the data").set_input_files(file)
    await expect(page.get_by_text("people.csv is on its way.")).to_be_visible()
    await page.get_by_role("button", name="Cancel the upload").click()
    await expect(page.get_by_text("people.csv is here:")).to_be_visible()
    assert ann.ask("GET", f"/api/drafts/{draft.rpartition('/')[2]}")["uploads"] == {}
