"""A new owner's walk, by pages only: from a `.keras` file and 600 pictures to a model that others trained.

Usage: python -m benchmarks.pages.owner_walk [--save FOLDER] [--table] [--json]

A real Chromium follows the owner link of a new server, clicks through the wizard and begins a private test
(`private_test`; goal: 30 seconds after the link), for which it gives a title, the licences and a contact. It
then completes the description and launches the task for everybody (`live`). Two browsers open the invitation
and train; the dashboard shows it; the trained `.keras` is downloaded there and predicts in Keras. Of all that
`server_worked` is what conversion, look, cut, rehearsal and trial took. `fields` counts what the owner filled
in before the private test, `further_fields` before the launch. The pictures are the first 60 of each of
CIFAR-10's ten classes (`MINGA_DATA`); with `--table` the data are the Titanic's table with semicolons and
decimal commas.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from benchmarks.plan_set import (
    TITANIC_VALUES,
    picture_model,
    save_model,
    titanic_model,
    write_pictures,
    write_table,
)
from tests.support.browser.chromium import launch
from tests.support.keras.reference_cache import ROOT
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import Server, running

PICTURES, TABLE = "cifar10_train.zip", "titanic.csv"
DATA = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared/data"))
PICTURES_OF_A_CLASS = 60
STEPS = ("model", "data", "preprocess", "plan", "privacy", "about", "trial", "review")
ABOUT = {
    "What the task is for, in one sentence": "Tells ten kinds of things apart in small pictures.",
    "Text, with Markdown: # for headings, * for lists, **bold**": "Pictures of 32 by 32 pixels.",
    "How could the trained model do harm, and how do you prevent that?": "It is too weak to harm.",
    "Who benefits from it?": "Those who learn how volunteers train together.",
}
CONTACT = "Contact: an address that people can write to"


# Called with a page and its name before the page is left.
PageObserver = Callable[[Page, str], Awaitable[None]]


@dataclass
class Walk:
    """The results of the walk; times are seconds since the owner opened the link."""

    draft_begun: float = 0.0
    files_brought: float = 0.0
    ready_to_launch: float = 0.0
    private_test: float = 0.0
    live: float = 0.0
    # Wall seconds of the server's own work: conversion, inspection, sharding and dry run.
    server_worked: float = 0.0
    trained: float = 0.0
    # Fields that the owner filled in for a private test, and then for the launch.
    fields: int = 0
    further_fields: int = 0
    keras_bytes: int = 0
    # The sum of the downloaded model's class probabilities; 1 if it predicts. Of a single one, at most 1.
    predicts: float = 0.0


@dataclass(frozen=True)
class OwnFiles:
    """What an owner brings: the data's name, the writers of both files, and the shapes of the model."""

    data: str
    model: Callable[[], Any]
    write: Callable[[Path, Path], object]
    takes: tuple[int, ...]
    gives: int


THINGS = OwnFiles(
    "things.zip",
    picture_model,
    lambda archive, path: write_pictures(archive, path, PICTURES_OF_A_CLASS),
    (32, 32, 3),
    10,
)
PEOPLE = OwnFiles("people.csv", titanic_model, write_table, (TITANIC_VALUES,), 1)


def predict(path: Path, files: OwnFiles = THINGS) -> float:
    """Returns the sum of a downloaded model's class probabilities."""
    import keras
    import numpy as np

    answer = np.asarray(keras.models.load_model(path)(np.zeros((1, *files.takes), np.float32)))
    assert answer.shape == (1, files.gives)
    return float(answer.sum())


class Owner:
    """An owner who has a link and two files and works through the pages."""

    def __init__(self, page: Page, url: str, look: PageObserver | None) -> None:
        self.page = page
        self.url = url
        self.look = look
        self.walk = Walk()
        self._begun = time.perf_counter()

    def now(self) -> float:
        return round(time.perf_counter() - self._begun, 1)

    async def show(self, name: str) -> None:
        """Calls `look` with the page, if given."""
        if self.look is not None:
            await self.look(self.page, name)

    async def sign_in(self, link: str) -> None:
        await self.page.goto(link)
        await self.page.get_by_label("Name", exact=True).first.fill("ann")
        await self.page.get_by_role("button", name="Sign in").first.click()
        await self.page.get_by_role("link", name="Your drafts").first.click()

    async def begin(self) -> None:
        await self.page.get_by_label("Title, as volunteers read it").fill("Ten things")
        self.walk.fields += 1
        await self.page.get_by_role("button", name="Begin", exact=True).click()
        await self.page.wait_for_url("**/drafts/*/model")
        await self._ready()
        self.walk.draft_begun = self.now()

    async def upload_files(self, model: Path, pictures: Path) -> None:
        await self._upload("Choose a model", model)
        await self._next("data")
        source = self.page.get_by_role("radio", name="I upload them")
        await expect(source).to_be_enabled()
        await source.check()
        await self._upload("Choose the data", pictures)
        self.walk.files_brought = self.now()

    async def _upload(self, label: str, file: Path) -> None:
        chooser = self.page.get_by_label(label)
        await expect(chooser).to_be_enabled()
        await chooser.set_input_files(file)
        await expect(self.page.get_by_text(f"{file.name} is here").first).to_be_visible()

    async def _next(self, step: str) -> None:
        await self.show(STEPS[STEPS.index(step) - 1])
        await (
            self.page.get_by_role("navigation", name="Next and previous step")
            .get_by_role("link", name="Next:")
            .click()
        )
        await self.page.wait_for_url(f"**/{step}")
        await self._ready()

    async def _ready(self) -> None:
        """Waits for a step's script; before that the step ignores input."""
        await expect(self.page.locator("[data-step-body]:not([inert])")).to_be_visible()

    async def fill_in(self) -> None:
        """Clicks through the steps from preprocessing to the description; keeps all proposals."""
        await self._next("preprocess")
        await self._next("plan")
        await self._next("privacy")
        await self._next("about")
        await self.page.get_by_label(CONTACT).fill("owner@example.org")
        await self.page.get_by_label("Licence of the trained model").select_option("Apache-2.0")
        await self.page.get_by_label("Licence of the data").select_option("other")
        await self.page.get_by_label("Its terms, or where to find them").fill("As CIFAR-10's authors say.")
        # The contact, and three fields of the licences.
        self.walk.fields += 4
        for item in ("licence", "contact"):
            await expect(self.page.locator(f"[data-check={item}]")).to_have_attribute("data-state", "done")

    async def _describe(self) -> None:
        """Completes the description of the task in its private test."""
        await self.page.get_by_role("link", name="Complete its description").click()
        await self._ready()
        for label, text in ABOUT.items():
            await self.page.get_by_label(label).fill(text)
        await self.page.get_by_role("radio", name="published under a licence").check()
        await self.page.get_by_role("radio", name="no people in the data").check()
        self.walk.further_fields += len(ABOUT) + 2
        await expect(self.page.locator("[data-check]:not([data-state=done])")).to_have_count(0)
        await self.show("describe")

    def _step(self, step: str) -> Locator:
        return self.page.locator(f"[data-step={step}]")

    async def launch(self) -> str:
        """Does the dry run and a private test, completes and launches the task; returns the invitation."""
        await self._next("trial")
        await expect(self._step("trial")).to_have_attribute("data-state", "done")
        await self._next("review")
        self.walk.ready_to_launch = self.now()
        self.walk.server_worked = await self._server_seconds()
        await self.show("review")
        await self.page.get_by_role("button", name="Start a private test").click()
        field = self.page.get_by_label("Invitation link (shown only once)")
        await expect(field).to_have_value(re.compile(r".+/join#.+"))
        self.walk.private_test = self.now()
        await self.show("launched")
        invitation = await field.input_value()
        await self._describe()
        await self.page.get_by_role("button", name="Launch it for everybody").click()
        state = self.page.locator("[data-manage] [data-standing]")
        await expect(state).to_be_visible()
        await expect(state).not_to_contain_text("test")
        self.walk.live = self.now()
        return invitation

    async def _server_seconds(self) -> float:
        script = "async (path) => (await fetch(path)).json()"
        draft = await self.page.evaluate(script, "/api/drafts/" + self.page.url.split("/")[-2])
        jobs = [job for job in draft["jobs"].values() if job["ended"]]
        return round(sum(float(job["ended"]) - float(job["asked"]) for job in jobs), 1)

    async def watch(self, keep: Path) -> None:
        """Waits until the dashboard shows the volunteer's work, then downloads the trained model."""
        counted = self.page.locator("[data-participants] tr td").nth(2)
        await expect(counted).to_have_text(re.compile("^[1-9]"))
        self.walk.trained = self.now()
        await self.show("dashboard")
        # Versions come several times a second; after the end the newest one is fixed.
        await expect(self.page.locator("[data-standing]")).to_contain_text("Finished")
        version = self.page.locator("[data-versions] tr").first
        await version.locator("summary").click()
        async with self.page.expect_download() as download_info:
            await version.get_by_role("link", name="Keras", exact=True).click()
        await (await download_info.value).save_as(keep)


async def volunteer(browser: Browser, invitation: str) -> Page:
    """Opens another browser that follows the invitation and takes part."""
    page = await (await browser.new_context()).new_page()
    await page.goto(invitation)
    await page.wait_for_url("**/tasks/*")
    await page.get_by_role("link", name="Take part").first.click()
    await page.locator("[data-action=start]").click()
    return page


async def walk(
    browser: Browser,
    server: Server,
    folder: Path,
    source: Path,
    look: PageObserver | None = None,
    files: OwnFiles = THINGS,
) -> Walk:
    """Takes all steps on a server without an owner.

    `folder` is for files; the data come from `source`.
    """
    model, data, trained = folder / "own.keras", folder / files.data, folder / "trained.keras"
    save_model(files.model, model)
    files.write(source, data)
    link = server.report["owner_link"]
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    owner = Owner(await context.new_page(), link.split("/sign-in")[0], look)
    await owner.sign_in(link)
    await owner.begin()
    await owner.upload_files(model, data)
    await owner.fill_in()
    invitation = await owner.launch()
    for _ in range(2):
        await volunteer(browser, invitation)
    await owner.watch(trained)
    owner.walk.keras_bytes = len(await asyncio.to_thread(trained.read_bytes))
    owner.walk.predicts = round(await asyncio.to_thread(predict, trained, files), 4)
    return owner.walk


async def measure(save: Path | None, files: OwnFiles = THINGS) -> Walk:
    """Takes the walk on a new server and Chromium; `save` is the folder for screenshots."""
    source = DATA / (TABLE if files is PEOPLE else PICTURES)

    async def picture(page: Page, name: str) -> None:
        if save is not None:
            await page.screenshot(path=save / f"{name}.png", full_page=True)

    expect.set_options(timeout=1000 * PATIENCE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(ROOT / "models/digits", folder / "data") as server:
            async with async_playwright() as playwright:
                browser = await launch(playwright)
                result = await walk(browser, server, folder, source, picture, files)
                await browser.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--save", type=Path, help="folder for pictures of each step")
    parser.add_argument("--table", action="store_true", help="bring a table instead of pictures")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if arguments.save is not None:
        arguments.save.mkdir(parents=True, exist_ok=True)
    figures = asdict(asyncio.run(measure(arguments.save, PEOPLE if arguments.table else THINGS)))
    if arguments.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:16} {value}")


if __name__ == "__main__":
    main()
