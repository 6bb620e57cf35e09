"""Each kind of training on the real pages of a real server, in one browser beside headless peers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.browser.training_visit import visit
from tests.support.exact.engines import Browser, BrowserTab
from tests.support.peer.digits_mesh import write_digits
from tests.support.peer.peer_process import joined
from tests.support.tasks.gallery_units import write_gallery_units
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server, running

START = "() => document.querySelector('[data-action=start]').click()"
# The state of a training page: its figures, its status, and the ways to other members.
LOOK = """() => {
  const text = (name) => document.querySelector(`[data-${name}]`)?.textContent ?? "";
  const figures = ["accepted", "counted", "averaged", "examples"];
  const links = document.querySelectorAll("[data-links] [data-way]");
  return {
    ...Object.fromEntries(figures.map((name) => [name, Number(text(name).replace(/\\D/g, ""))])),
    backend: text("backend"),
    line: text("status-line"),
    hint: text("status-hint"),
    ways: [...new Set([...links].map((one) => one.dataset.way))].sort(),
  };
}"""

BEGINNING = "ROMEO: "
WRITE = f"""async () => {{
  const trial = document.querySelector("[data-trial]");
  while (trial.querySelector("[data-board]").hidden) await new Promise((resolve) => setTimeout(resolve, 50));
  trial.querySelector("textarea, input[type=text]").value = {BEGINNING!r};
  trial.querySelector("form").requestSubmit();
}}"""
WRITTEN = """() => ({
  text: document.querySelector(".written")?.textContent ?? "",
  line: document.querySelector("[data-guess]")?.textContent ?? "",
})"""


@dataclass(frozen=True)
class Training:
    """A row of the table: `counts` is the figure that shows that the page's work is in the model."""

    title: str
    counts: str
    peers: int
    # Writes the task of the built model into a folder.
    write: Callable[[Path, Path], Path]
    settings: dict[str, str]


def _rounds(model: Path, _folder: Path) -> Path:
    return model


def _units(model: Path, folder: Path) -> Path:
    return write_gallery_units(model, folder, 100, 1000)


def _mesh(model: Path, folder: Path) -> Path:
    return write_digits(model, folder, min_available_clients=2, rounds=1000)


_PATIENT = {"coordination.deadline": "300", "coordination.adaptive_deadline": "false"}
_MASKED = {
    "coordination.min_available_clients": "3",
    "coordination.quorum": "3",
    "security.aggregation": '["masked"]',
    "security.masking.min_clients": "3",
    "security.masking.clip": "20.0",
    "security.masking.examples": "800",
}

TRAININGS = {
    "rounds": Training(
        "Rounds", "accepted", 0, _rounds, _PATIENT | {"coordination.min_available_clients": "1"}
    ),
    "masked": Training("Masked rounds", "accepted", 2, _rounds, _PATIENT | _MASKED),
    "units": Training("Work units", "counted", 1, _units, {}),
    "mesh": Training("Mesh", "averaged", 1, _mesh, _PATIENT),
}


def train(browser: Browser, name: str, models: Path, folder: Path) -> dict[str, Any]:
    """Trains the digits in `browser` until its work counts; returns the page's state.

    Raises TimeoutError with the page's state if that does not happen.
    """
    with _training(TRAININGS[name], models, folder) as server:
        tab = browser.open(f"{server.url}/tasks/digits/train")
        try:
            tab.evaluate(START)
            return _until(tab, LOOK, lambda seen: bool(seen[TRAININGS[name].counts]))
        finally:
            tab.close()


def visit_page(browser: Browser, models: Path, folder: Path) -> list[str]:
    """Visits a training page; returns the names of the steps that were done. Raises TimeoutError."""
    with _training(TRAININGS["rounds"], models, folder) as server:
        return list(visit(browser, f"{server.url}/tasks/digits/train?backend=wasm"))


def write_text(browser: Browser, models: Path, folder: Path) -> str:
    """Has the page of a text model continue a text; returns what it wrote. Raises TimeoutError."""
    with running(models / "shakespeare", folder / "data") as server:
        tab = browser.open(f"{server.url}/tasks/shakespeare")
        try:
            tab.evaluate(WRITE)
            return str(_until(tab, WRITTEN, lambda seen: len(seen["text"]) > len(BEGINNING))["text"])
        finally:
            tab.close()


@contextmanager
def _training(training: Training, models: Path, folder: Path) -> Iterator[Server]:
    task = training.write(models / "digits", folder / "tasks" / "digits")
    flags = [word for key, value in training.settings.items() for word in ("--set", f"digits.{key}={value}")]
    with running(task, folder / "data", *flags) as server, ExitStack() as stack:
        for number in range(training.peers):
            stack.enter_context(joined(folder / f"home-{number}", f"{server.url}/tasks/digits"))
        yield server


def _until(tab: BrowserTab, look: str, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    end = time.monotonic() + LONG
    seen: dict[str, Any]
    while not holds(seen := tab.evaluate(look)):
        if time.monotonic() > end:
            raise TimeoutError(f"The page does not get on: {seen}")
        time.sleep(0.2)
    return seen
