"""The timeline of rounds, on a page of its own and on the task's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from playwright.async_api import Page, expect

from backend.wire.messages import Accepted, Refused
from tests.e2e.pages.task.round_history import EVERY_ABANDONED, write_history
from tests.support.tasks.tiny_task import SIZE, write_task
from tests.support.timeouts import HEAVY, PATIENCE
from tests.support.web.http_requests import ask
from tests.support.web.rounds_client import Client
from tests.support.web.server_process import Server, running

ROUNDS = 1000
# How often the page refreshes itself.
EVERY_MILLISECONDS = 5000


@pytest.fixture(scope="module")
def storied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose task `tiny` looks back on ROUNDS rounds; `fresh` has none."""
    folder = tmp_path_factory.mktemp("storied")
    write_task(folder / "tasks" / "tiny", rounds=5000)
    write_task(folder / "tasks" / "fresh")
    with running(folder / "tasks", folder / "data") as server:
        bundle = server.get("/api/tasks/tiny")["bundle"]
    write_history(folder / "data", bundle, ROUNDS)
    with running(folder / "tasks", folder / "data") as server:
        yield server


def read(server: Server, path: str) -> str:
    status, text = ask(server, path, Accept="text/html")
    assert status == 200, text
    return unescape(text)


def link(page: str, rel: str) -> str | None:
    found = re.search(f'rel="{rel}" href="([^"]+)"', page)
    return found and found[1]


def numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r'data-round="(\d+)"', page)]


@pytest.mark.long
@pytest.mark.browser
async def test_curves_are_drawn_where_the_browsers_language_is_no_language(
    storied: Server, page: Page
) -> None:
    # WebKitGTK without a locale says "C", which Intl refuses.
    script = "Object.defineProperty(Navigator.prototype, 'language', { get: () => 'C', configurable: true })"
    await page.add_init_script(script)
    await page.goto(f"{storied.url}/tasks/tiny")
    await expect(page.locator(".u-wrap canvas").first).to_be_visible(timeout=PATIENCE * 1000)


@pytest.mark.long
def test_a_thousand_rounds_are_paged_through_and_back(storied: Server) -> None:
    path: str | None = "/tasks/tiny/rounds"
    seen, pages = [], []
    while path is not None:
        page = read(storied, path)
        pages.append(numbers(page))
        seen += pages[-1]
        path, last = link(page, "next"), path
    assert seen == list(range(ROUNDS, 0, -1))
    assert max(map(len, pages)) <= 50
    back, path = [], last
    while path is not None:
        page = read(storied, path)
        back.append(numbers(page))
        path = link(page, "prev")
    assert back == pages[::-1]


@pytest.mark.timeout(HEAVY)
def test_a_round_says_who_took_part_what_counted_and_what_it_made(storied: Server) -> None:
    page = read(storied, "/tasks/tiny/rounds")
    made, lost = page.split("<li ")[1], page.split("<li ")[1 + ROUNDS % EVERY_ABANDONED]
    for text in (
        'data-outcome="version"',
        "made version 858",
        "3 of 4 participants sent an update that counts",
        "2\u00a0× browser with WebGPU, 1\u00a0× peer with TensorFlow",
        "2.3 s",
        "<dt>Accuracy</dt><dd>96.2\u202f%</dd>",
        "<dt>Loss</dt><dd>0.09615</dd>",
        "40 bytes",
    ):
        assert text in made
    for text in (
        'data-outcome="abandoned"',
        "made nothing",
        "0 of 4 participants sent",
        "3 updates were refused: 1\u00a0× values not finite, 2\u00a0× too late",
        "0 of at least 1 updates arrived in time.",
        "30 s",
    ):
        assert text in lost


def test_versions_whose_weights_were_let_go_offer_none(storied: Server) -> None:
    page = read(storied, "/tasks/tiny/rounds?before=500")
    assert "deleted" in page
    assert "/blobs/" not in page
    assert "The weights of the newest 10, the best and of version 0 are kept" in page


def test_before_the_first_round_the_page_says_what_it_waits_for(storied: Server) -> None:
    for path in ("/tasks/fresh/rounds", "/tasks/fresh"):
        assert "The first opens as soon as 2 participants are ready" in read(storied, path)


@pytest.mark.parametrize("before", ["x", "-1", "1" * 10])
def test_an_address_with_no_number_is_refused(storied: Server, before: str) -> None:
    assert ask(storied, f"/tasks/tiny/rounds?before={before}")[0] == 400


def test_beyond_the_last_page_there_is_a_way_back(storied: Server) -> None:
    page = read(storied, "/tasks/tiny/rounds?before=0")
    assert numbers(page) == []
    assert link(page, "prev") is not None


async def made(server: Server, version: int) -> None:
    """Waits until the task has this version."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if (await asyncio.to_thread(server.get, "/api/tasks/tiny"))["version"] >= version:
                return
            await asyncio.sleep(0.05)


async def refreshed(page: Page) -> None:
    """Has the page refresh now, and waits until it has shown what came."""
    for _ in range(2):  # It was done with the first answer when it asks for the second.
        async with page.expect_response(f"{page.url}?live=") as answer:
            await page.clock.fast_forward(EVERY_MILLISECONDS)
        await (await answer.value).finished()


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, pytest.param(1280, marks=pytest.mark.long)])
async def test_a_round_appears_as_it_ends_and_is_told_to_screen_readers(
    page: Page, tmp_path: Path, width: int
) -> None:
    folder = tmp_path / "tasks" / "tiny"
    write_task(folder, min_available_clients=1, deadline=300, adaptive_deadline=False)
    await page.set_viewport_size({"width": width, "height": 740})
    await page.clock.install()
    with running(tmp_path / "tasks", tmp_path / "data") as server:
        await page.goto(f"{server.url}/tasks/tiny/rounds")
        rounds = page.locator("[data-round]")
        await expect(rounds).to_have_count(0)
        async with Client(server.url) as client:
            await client.ready()
            first = await client.selected()
            assert isinstance(await client.deliver(first, np.full(SIZE, np.nan)), Refused)
            await expect(rounds.first).to_contain_text("1 update was refused")
            second = await client.selected()
            assert isinstance(await client.deliver(second, np.ones(SIZE)), Accepted)
            await expect(page.get_by_role("status")).to_have_text(re.compile(r"Round 2\s+made version 1"))
            await expect(page.get_by_role("heading", name="Round 2 made version 1")).to_be_visible()
            # Who is in the list with the keyboard is not thrown out by the next round.
            await page.get_by_role("link", name="of version 1").focus()
            third = await client.selected()
            assert isinstance(await client.deliver(third, np.ones(SIZE)), Accepted)
            await made(server, 2)
            await refreshed(page)
            assert await page.evaluate("document.activeElement.textContent.includes('of version 1')")
            await page.evaluate("document.activeElement.blur()")
            await expect(rounds.filter(has_text="made version 2")).to_have_count(1)
        assert await page.evaluate("document.documentElement.scrollWidth") == width
