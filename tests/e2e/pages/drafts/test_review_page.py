"""The last steps of the wizard in a real browser: what volunteers are told, the look over all, the launch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.e2e.pages.drafts.ready_draft import make_ready
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator, program

NUMBERS = itertools.count(1)


@dataclass
class Place:
    """A server, and its operator in a browser and as a program."""

    server: Server
    data: Path
    visitor: Visitor
    program: Drafter

    @property
    def drafter(self) -> Drafter:
        """The program, where the server is now."""
        return self.program.moved(self.server.url)

    async def sign_in(self, browser: Browser) -> BrowserContext:
        context = await browser.new_context(viewport={"width": 1280, "height": 900})
        await sign_in(context, self.visitor)
        return context


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder: Path = tmp_path_factory.mktemp("review")
    task = write_task(folder / "tasks" / "tiny")
    (task / "bundle" / "model.keras").write_bytes(b"PK\x03\x04 as Keras wrote it")
    with running(folder / "tasks", folder / "data") as server:
        ann = operator(server)
        yield Place(server, folder / "data", ann, Drafter(program(ann, "create", "edit", "inspect")))


async def looked_at(page: Page) -> None:
    """Nothing on the page, with all sections open, sticks out of a phone, and axe finds nothing serious."""
    await page.set_viewport_size({"width": 360, "height": 740})
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await findings(page) == []


async def test_what_volunteers_read_is_filled_in_and_shown_as_they_will_see_it(
    browser: Browser, place: Place
) -> None:
    draft = place.drafter.begin("dogs")
    page = await (await place.sign_in(browser)).new_page()
    complaints = listen(page)
    await page.goto(f"{place.server.url}/drafts/{draft.rpartition('/')[2]}/about")
    checks = page.locator("[data-check]")
    await expect(checks).to_have_count(5)
    await page.get_by_label("What the task is for").fill("Dogs and wolves are told apart.")
    await page.get_by_label("Topics").fill("images, pets")
    await page.get_by_label("Text, with Markdown").fill("## Dogs\n\n<b>not bold</b> **bold**")
    preview = page.get_by_role("region", name="Preview of the task’s page")
    await expect(preview.get_by_role("heading", name="Dogs")).to_be_visible()
    await expect(preview.get_by_text("<b>not bold</b> bold")).to_be_visible()
    await page.get_by_label("Licence of the trained model").select_option(label="Apache License 2.0")
    await expect(page.get_by_text("It includes a patent licence")).to_be_visible()
    await page.get_by_label("Licence of the data").select_option(label="Other")
    await page.get_by_label("Its terms, or where to find them").fill("For research alone")
    await page.get_by_label("The people in the data agreed to this use.").check()
    await page.get_by_label("There are no people in the data.").check()
    await expect(page.get_by_label("What protects these people?")).to_be_hidden()
    await page.get_by_label("How could the trained model do harm").fill("It cannot tell a wolf in the dark.")
    await page.get_by_label("Who benefits from it?").fill("Shepherds.")
    await page.get_by_label("Contact: an address").fill("dogs@example.org")
    await expect(page.locator("[data-check][data-state=done]")).to_have_count(5)
    await looked_at(page)
    task = place.drafter.send("GET", draft).json["task"]
    assert task["topics"] == ["images", "pets"]
    assert task["licence"] == {"model": "Apache-2.0", "data": "For research alone"}
    assert task["ethics"]["benefit"] == "Shepherds."
    # Whoever comes back finds it all.
    await page.reload()
    await expect(page.get_by_label("Its terms, or where to find them")).to_have_value("For research alone")
    await expect(page.get_by_label("There are no people in the data.")).to_be_checked()
    assert complaints == []


async def test_a_draft_is_looked_over_changed_as_a_file_and_compared(browser: Browser, place: Place) -> None:
    draft = place.drafter.begin("birds")
    other = place.drafter.begin("owls")
    task = place.drafter.send("GET", other).json["task"]
    task["coordination"] |= {"rounds": 100}
    place.drafter.send("PATCH", other, {"task": task})
    page = await (await place.sign_in(browser)).new_page()
    complaints = listen(page)
    await page.goto(f"{place.server.url}/drafts/{draft.rpartition('/')[2]}/review")
    await expect(page.get_by_text("The server averages what clients send, in 20 rounds.")).to_be_visible()
    await expect(page.locator('[data-check="model-file"] a')).to_have_text("Go to “Model”")
    await page.get_by_text("Read and change task.toml").click()
    field = page.get_by_label("task.toml", exact=True)
    await expect(field).not_to_have_value("")
    text = await field.input_value()
    await field.fill(text.replace("rounds = 20", "rounds = 0"))
    fault = page.get_by_text("`coordination.rounds` should be a whole number, at least 1.")
    await expect(fault).to_be_visible()
    await page.get_by_role("button", name="Line 15").click()
    await field.fill(text.replace("rounds = 20", "rounds = 30"))
    await expect(fault).to_be_hidden()
    await page.get_by_role("button", name="Save task.toml").click()
    await expect(page.get_by_text("The server averages what clients send, in 30 rounds.")).to_be_visible()
    await page.get_by_label("Anyone with the address sees the task").check()
    await page.get_by_label("Some seconds of computing, once").check()
    asked = "What is asked of newcomers: Some seconds of computing, once, before they take part."
    await expect(page.get_by_text(asked)).to_be_visible()
    await page.get_by_label("Compare with").select_option(value=f"draft:{other.rpartition('/')[2]}")
    await expect(page.get_by_text("coordination.rounds falls from 100 to 30.")).to_be_visible()
    await looked_at(page)
    await page.get_by_role("button", name="Make a copy").click()
    await page.wait_for_url(lambda address: not address.endswith("/review"))
    assert len(place.drafter.send("GET", "/api/drafts").json["drafts"]) > 2
    assert place.drafter.send("GET", draft).json["task"]["access"] == {
        "visibility": "unlisted",
        "newcomers": "work",
    }
    assert complaints == []


async def test_a_private_test_shows_its_invitation_and_goes_live(browser: Browser, place: Place) -> None:
    # A name of its own for each try: a task's name is taken once it is launched.
    name = f"cats-{next(NUMBERS)}"
    draft = make_ready(place.server, place.data, place.drafter, name)
    page = await (await place.sign_in(browser)).new_page()
    complaints = listen(page)
    await page.goto(f"{place.server.url}/drafts/{draft}/review")
    await page.get_by_role("button", name="Start a private test").click()
    field = page.get_by_label("Invitation link")
    await expect(field).to_be_visible()
    await expect(field).not_to_have_value("")
    await expect(page.get_by_alt_text("QR code")).to_be_visible()
    await looked_at(page)
    assert page.url.endswith(f"/tasks/{name}/manage")
    invitation = await field.input_value()

    volunteer = await (await browser.new_context()).new_page()
    assert (await volunteer.request.get(f"{place.server.url}/tasks/{name}")).status == 404
    await volunteer.goto(invitation)
    await expect(volunteer.get_by_role("link", name="Take part").first).to_be_visible()

    await page.get_by_role("button", name="Launch it for everybody").click()
    await expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    assert place.server.get(f"/api/tasks/{name}")["state"] == "live"
    anybody = await (await browser.new_context()).new_page()
    await anybody.goto(f"{place.server.url}/tasks/{name}")
    await expect(anybody.get_by_text("This is a new version of tiny.")).to_be_visible()
    await expect(anybody.get_by_text("Whoever has pictures of pets.")).to_be_visible()
    assert complaints == []
