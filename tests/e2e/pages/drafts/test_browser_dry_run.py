"""An owner's browser takes the step that the server took, with every backend that it has."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.e2e.pages.conftest import listen, sign_in
from tests.e2e.pages.drafts.dry_run_drafts import Rehearsal, falsify, tried_before
from tests.support.browser.axe import findings
from tests.support.tasks.tiny_task import write_task
from tests.support.timeouts import HEAVY
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import Server
from tests.support.web.visitors import Visitor, operator, program

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]


@dataclass(frozen=True)
class Wizard:
    """A server, its operator, a program of theirs, and two drafts: what `wrong` expects is false."""

    server: Server
    owner: Visitor
    program: Drafter
    right: str
    wrong: str


@pytest.fixture(scope="module")
def wizard(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wizard]:
    folder = tmp_path_factory.mktemp("rehearsed")
    write_task(folder / "tasks" / "tiny")
    server = Server(folder / "tasks", folder / "data")
    server.start()
    try:
        ann = operator(server)
        drafter = Drafter(program(ann, "create"))
        right, wrong = (drafter.begin(name) for name in ("right", "wrong"))
        server.stop()
        rehearsal = Rehearsal(models / "digits/built", folder / "step")
        places = [folder / "data/drafts" / draft.rpartition("/")[2] for draft in (right, wrong)]
        for place in places:
            rehearsal.put(place)
        falsify(places[1])
        tried_before(places[1])
        server.start()
        ann.host = urlsplit(server.url).netloc
        yield Wizard(server, ann, drafter.moved(server.url), right, wrong)
    finally:
        if server.process.poll() is None:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, wizard: Wizard) -> BrowserContext:
    """The operator's browser."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    await sign_in(context, wizard.owner)
    return context


def trial_page(wizard: Wizard, draft: str) -> str:
    return f"{wizard.server.url}/drafts/{draft.rpartition('/')[2]}/trial"


def verdicts(wizard: Wizard, draft: str) -> dict[str, str]:
    tried = wizard.program.send("GET", f"{draft}/trial").json["tried"]
    # A test that fails shows by how much they differ.
    print(*(one["text"] for one in tried), sep="\n")
    return {one["what"]: one["verdict"] for one in tried if not one["outdated"]}


async def has_ended(page: Page) -> None:
    await expect(page.locator("[data-trial-now]")).to_contain_text("Done.")


@pytest.mark.long
async def test_every_backend_takes_the_servers_step(wizard: Wizard, context: BrowserContext) -> None:
    page = await context.new_page()
    complaints = listen(page)
    await page.goto(trial_page(wizard, wizard.right))
    await has_ended(page)
    assert verdicts(wizard, wizard.right) == dict.fromkeys(
        ("data", "wasm", "webgl", "webgpu", "cpu"), "agrees"
    )
    checks = page.locator("[data-check]")
    assert await checks.evaluate_all("all => all.map(one => one.dataset.state)") == ["done"] * 7
    await expect(page.locator("[data-check=data]")).to_contain_text("examples, as the server reads them")
    await expect(page.locator("[data-check=wasm]")).to_contain_text(
        "took the server's step: its gradient is off"
    )
    await expect(page.locator("[data-takers]")).to_contain_text("Phones can take part")
    shown = wizard.program.send("GET", wizard.right).json
    browser = next(item for item in shown["checklist"] if item["key"] == "browser")
    assert (browser["state"], "WebAssembly, WebGL" in browser["text"]) == ("done", True)
    assert await findings(page) == []
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.documentElement.scrollWidth <= 360")
    assert complaints == []
    await page.close()


@pytest.mark.timeout(HEAVY)
async def test_before_the_conversion_the_page_says_what_comes_first(
    wizard: Wizard, context: BrowserContext
) -> None:
    page = await context.new_page()
    await page.goto(trial_page(wizard, wizard.program.begin("early")))
    await expect(page.locator("[data-check=native]")).to_contain_text("Convert the model first")
    await expect(page.locator("[data-check=wasm]")).to_contain_text("Comes after the server’s step.")
    await page.close()


@pytest.mark.long
async def test_a_step_that_is_not_the_servers_is_called_wrong(
    wizard: Wizard, context: BrowserContext
) -> None:
    page = await context.new_page()
    await page.goto(trial_page(wizard, wizard.wrong))
    await has_ended(page)
    # What was found before a change stands below, and does not count.
    before = page.locator("[data-others] tr")
    await expect(before).to_have_count(1)
    await expect(before).to_contain_text("Right, before a change")
    found = verdicts(wizard, wizard.wrong)
    assert found == {"data": "agrees", **dict.fromkeys(("wasm", "webgl", "webgpu", "cpu"), "differs")}
    await expect(page.locator("[data-check=wasm]")).to_contain_text("took a different step than the server")
    await expect(page.locator("[data-trial-now]")).to_contain_text("took a different step than the server")
    refused = wizard.program.send("POST", f"{wizard.wrong}/launch", {})
    assert "computed a different step than the server" in refused.text
    await page.close()


@pytest.mark.long
async def test_a_backend_that_fails_is_told_and_the_others_go_on(
    wizard: Wizard, context: BrowserContext
) -> None:
    page = await context.new_page()
    # The browser cannot fetch the program of one backend.
    await context.route("**/tfjs-backend-wasm*.wasm", lambda route: route.abort())
    await page.goto(trial_page(wizard, wizard.right))
    await page.get_by_role("button", name="Try again").click()
    await has_ended(page)
    found = verdicts(wizard, wizard.right)
    assert found.pop("wasm") in ("absent", "failed")
    assert set(found.values()) == {"agrees"}
    await context.unroute("**/tfjs-backend-wasm*.wasm")
    await page.close()


async def test_nobody_else_reads_a_drafts_files(wizard: Wizard) -> None:
    step = wizard.program.send("GET", f"{wizard.right}/trial").json["trial"]["step"]
    assert wizard.program.send("GET", f"{wizard.right}/blobs/{step}").status == 200
    assert Drafter(Visitor(wizard.server.url)).send("GET", f"{wizard.right}/blobs/{step}").status == 401
    assert Drafter(Visitor(wizard.server.url)).send("GET", f"/blobs/{step}").status == 404
    assert wizard.program.send("GET", f"{wizard.wrong}/blobs/{step}").status == 404
