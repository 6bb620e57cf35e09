"""Masked rounds as volunteers meet them: their condition, whom they met before, a connection that breaks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, WebSocket, expect

from tests.e2e.pages.conftest import listen
from tests.support.environment.tcp_forwarder import forwarding
from tests.support.peer.linked_peers import until
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

VOLUNTEERS = 3
CUTS = 3
# Far more rounds than cuts: on a busy machine a round or two end before the test reads the page's count.
ROUNDS = 12
SETTINGS = {
    "coordination.min_available_clients": "3",
    "coordination.gather": "0",
    "coordination.deadline": "300",
    "coordination.adaptive_deadline": "false",
    "coordination.quorum": "3",
    # A page of a busy machine takes longer to come back than a phone that changes its network.
    "coordination.grace": "120",
    "security.aggregation": '["masked"]',
    "security.masking.min_clients": "3",
    "security.masking.clip": "20.0",
}
# What a page was fetching, or the connection it was opening, when its line broke.
CUT_OFF = ("Failed to load resource: net::ERR_", "WebSocket connection to ")
Serving = Callable[..., AbstractContextManager[Server]]


@pytest.fixture
def serving(models: Path, tmp_path: Path) -> Serving:
    @contextmanager
    def serve(**more: str) -> Iterator[Server]:
        settings = SETTINGS | {key.replace("__", "."): value for key, value in more.items()}
        flags = [word for key, value in settings.items() for word in ("--set", f"digits.{key}={value}")]
        with running(models / "digits", tmp_path / "data", *flags) as server:
            yield server

    return serve


@pytest_asyncio.fixture(loop_scope="session")
async def volunteers(browser: Browser) -> AsyncIterator[list[Page]]:
    """Pages of browsers that know nothing of each other, and complain of nothing but a broken line."""
    pages = [await (await browser.new_context()).new_page() for _ in range(VOLUNTEERS)]
    complaints = [listen(page) for page in pages]
    yield pages
    assert [one for each in complaints for one in each if not one.startswith(CUT_OFF)] == []


async def start(url: str, pages: list[Page]) -> None:
    for page in pages:
        await page.goto(f"{url}/tasks/digits/train?backend=wasm")
        await page.locator("[data-action=start]").click()


async def trained(pages: list[Page]) -> None:
    for page in pages:
        status = page.locator("[data-status-line]")
        await expect(status).to_have_text("The model is trained")


async def counted_after(page: Page, count: int) -> int:
    """Returns how many updates of the page count, as soon as there are more than `count`."""
    accepted = page.locator("[data-accepted]")
    await expect(accepted).not_to_have_text(str(count))
    return int(await accepted.inner_text())


def answered_sockets(page: Page) -> list[WebSocket]:
    """Returns the page's sockets on which a server has answered; the list grows with them."""
    answered: list[WebSocket] = []

    def received(socket: WebSocket) -> None:
        if socket not in answered:
            answered.append(socket)

    page.on("websocket", lambda socket: socket.on("framereceived", lambda _: received(socket)))
    return answered


async def answered_on(sockets: list[WebSocket], count: int) -> None:
    """Waits until a server has answered on `count` sockets."""
    await until(lambda: len(sockets) >= count)


async def test_who_asks_for_more_than_the_task_masks_among_reads_why(page: Page, serving: Serving) -> None:
    with serving() as server:
        await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
        await expect(page.locator("[data-seen-line]")).to_contain_text("Nobody: updates are masked")
        await page.get_by_text("Advanced: your own conditions").click()
        await page.locator("[data-minimum]").fill("9")
        await expect(page.locator("[data-minimum-note]")).to_contain_text("cannot promise 9")
        await page.locator("[data-action=start]").click()
        hint = page.locator("[data-status-hint]")
        await expect(hint).to_contain_text("among 3 clients at least, and you ask for 9")
        await expect(page.locator("[data-status-line]")).to_have_text("Stopped")
        await page.reload()
        await expect(page.locator("[data-minimum]")).to_have_value("9")


async def test_a_task_in_the_open_says_so_to_who_wants_masks(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")
    await expect(page.locator("[data-seen-line]")).to_contain_text("The server, which adds up all updates")
    await page.get_by_text("Advanced: your own conditions").click()
    await page.locator("[data-minimum]").fill("3")
    await expect(page.locator("[data-minimum-note]")).to_contain_text("adds updates up in the open")
    await page.locator("[data-action=start]").click()
    hint = page.locator("[data-status-hint]")
    await expect(hint).to_contain_text("takes unmasked updates")


@pytest.mark.timeout(HEAVY)
async def test_volunteers_know_each_other_again_after_the_first_round_and_on_the_next_visit(
    volunteers: list[Page], serving: Serving
) -> None:
    active = {"security__masking__server": '"active"', "coordination__rounds": "40"}
    with serving(**active) as server:
        await start(server.url, volunteers)
        roster = volunteers[0].locator("[data-seen-roster]")
        await expect(roster).to_contain_text("You have met all the others before")
        await volunteers[0].reload()
        await volunteers[0].locator("[data-action=start]").click()
        # A second one of its kind: who came back is known to the others, and knows them.
        for page in volunteers[:2]:
            roster = page.locator("[data-seen-roster]")
            await expect(roster).to_contain_text("You have met all the others before")


@pytest.mark.timeout(HEAVY)
async def test_a_connection_that_breaks_costs_a_masked_round_nothing(
    volunteers: list[Page], serving: Serving
) -> None:
    with serving(coordination__rounds=str(ROUNDS)) as server:
        async with forwarding(server.url) as line:
            sockets = answered_sockets(volunteers[0])
            await start(line.url, volunteers[:1])
            await start(server.url, volunteers[1:])
            counted = 0
            for cuts in range(CUTS):
                counted = await counted_after(volunteers[0], counted)
                await answered_on(sockets, cuts + 1)
                assert line.cut() > 0
            await trained(volunteers)
            assert len(sockets) == CUTS + 1
        rounds = server.get("/api/tasks/digits/rounds")["rounds"]
    assert [one["outcome"] for one in rounds] == ["version"] * ROUNDS
    assert [one["accepted"] for one in rounds] == [VOLUNTEERS] * ROUNDS
