"""What a task asks of newcomers, as a volunteer meets it: a proof of work in a worker, and a probation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, Request, expect

from tests.support.timeouts import PATIENCE, eventually
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser


@contextmanager
def digits(models: Path, data: Path, *settings: str) -> Iterator[Server]:
    """A server whose rounds open for a single client; `settings` are values of the task file."""
    values = ("coordination.min_available_clients=1", *settings)
    flags = [word for value in values for word in ("--set", f"digits.{value}")]
    with running(models / "digits", data, *flags) as server:
        yield server


async def open_training(page: Page, server: Server) -> None:
    await page.goto(f"{server.url}/tasks/digits/train?backend=wasm")


async def start(page: Page) -> None:
    await page.locator("[data-action=start]").click()


async def accepted(page: Page, least: int) -> None:
    await page.wait_for_function(
        "least => Number(document.querySelector('[data-accepted]').textContent) >= least", arg=least
    )


async def test_a_browser_proves_its_work_once_and_takes_part(
    page: Page, models: Path, tmp_path: Path
) -> None:
    proofs: list[str] = []
    workers: list[str] = []

    def note(request: Request) -> None:
        if "/challenges/" in request.url and request.method == "POST":
            proofs.append(request.url)

    page.on("request", note)
    page.on("worker", lambda worker: workers.append(worker.url))
    with digits(models, tmp_path, "access.newcomers=work", "access.work={ bits = 22 }") as server:
        await open_training(page, server)
        await expect(page.locator("[data-newcomers]")).to_contain_text("computes for some seconds")
        line = page.locator("[data-work-proof]")
        await expect(line).to_be_hidden()
        await start(page)
        await expect(line).to_contain_text("Proving that this is a device: ")
        await accepted(page, 1)
        await expect(line).to_be_hidden()
        assert len(proofs) == 1
        assert len(workers) >= 2  # Another trains.
        # Who was admitted is not asked again.
        await page.reload()
        await start(page)
        await accepted(page, 1)
        assert len(proofs) == 1


async def test_a_proof_that_is_stopped_ends_its_worker_and_can_be_started_again(
    page: Page, models: Path, tmp_path: Path
) -> None:
    with digits(models, tmp_path, "access.newcomers=work", "access.work={ bits = 23 }") as server:
        await open_training(page, server)
        await start(page)
        line = page.locator("[data-work-proof]")
        await expect(line).to_be_visible()
        await expect(page.locator("[data-status-line]")).to_have_text("Solving a proof of work")
        await page.locator("[data-action=stop]").click()
        await expect(line).to_be_hidden()
        await expect(page.locator("[data-status-line]")).to_have_text("Stopped")
        async with asyncio.timeout(PATIENCE):
            while page.workers:  # noqa: ASYNC110 - no event says that a worker was seen to end.
                await asyncio.sleep(0.05)
        await start(page)
        await expect(line).to_be_visible()


async def test_updates_of_a_newcomer_are_checked_before_they_count(
    page: Page, models: Path, tmp_path: Path
) -> None:
    with digits(models, tmp_path, "access.newcomers=probation", "access.probation={ rounds = 2 }") as server:
        await open_training(page, server)
        words = page.locator("[data-newcomers]")
        await expect(words).to_contain_text("Your updates are checked in 2 rounds before they count")
        await start(page)
        await accepted(page, 1)

        def recorded() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = server.get("/api/tasks/digits/rounds")["rounds"]
            return found[:3]

        # The page hears of its update before the round is recorded.
        await asyncio.to_thread(eventually, lambda: len(recorded()) == 3, "no three rounds ended")
        rounds = recorded()
        assert [one["checked"] for one in rounds] == [1, 1, 0]
        assert [one["outcome"] for one in rounds] == ["abandoned", "abandoned", "version"]
