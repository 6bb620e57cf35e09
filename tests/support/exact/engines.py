"""The engines of the class `exact`: the training worker in a page of a browser, and in Node.js."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from backend.numerics.vectors import Vector
from backend.peer.exact.exact_engine import ExactEngine
from backend.peer.training.engine import ShardRows
from backend.peer.training.step import never
from tests.support.browser.chromium import chromium
from tests.support.browser.firefox import firefox
from tests.support.browser.webkit import webkit
from tests.support.exact.work import Work
from tests.support.timeouts import LONG


class BrowserTab(Protocol):
    """A page at the harness."""

    def evaluate(self, script: str, argument: object = None, seconds: float = LONG) -> Any: ...

    def go(self, address: str) -> None: ...

    def back(self) -> None: ...

    def close(self) -> None: ...


class Browser(Protocol):
    """A browser that opens pages."""

    def open(self, address: str) -> BrowserTab: ...


BROWSERS: dict[str, Callable[[], AbstractContextManager[Browser]]] = {
    "chromium": chromium,
    "firefox": firefox,
    "webkit": webkit,
}


class TrainingPage:
    """A page's training worker with kernels of choice."""

    def __init__(self, browser: Browser, origin: str, work: Work, backend: str, threads: int) -> None:
        self._work = work
        self._tab = browser.open(f"{origin}/harness/index.html")
        options = {"threads": threads, "worthSharing": 1}
        started = self._tab.evaluate(
            "([options, backend]) => window.chooseKernels(options, backend)", [options, backend]
        )
        if not started:
            raise RuntimeError(f"The page cannot start {backend}.")
        setup = {"backend": backend, "avoid": [], "sliced": False}
        self._tell("loaded", type="load", origin=origin, bundle=work.bundle, setup=setup)

    def train(self, steps: int) -> tuple[Vector, float]:
        """Returns the update of a plan, and the milliseconds of a step."""
        weights = hashlib.sha256(self._work.weights.read_bytes()).hexdigest()
        trained = self._tell("trained", type="train", weights=weights, plan=self._work.page_plan(steps))
        return np.array(trained["update"], "<f4"), float(trained["stepMs"])

    def close(self) -> None:
        self._tab.close()

    def _tell(self, answered: str, **message: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._tab.evaluate(
            "message => window.tell(message)", {**message, "id": 1}, 500
        )[-1]
        if answer["type"] != answered:
            raise RuntimeError(f"The worker answered {answer}.")
        return answer


async def train_in_node(work: Work, steps: Sequence[int], node: Path | None = None) -> dict[int, Vector]:
    """Returns the updates of the plans by a headless peer's worker, by their steps."""
    engine = ExactEngine(work, node=node)
    try:
        await engine.load(work.bundle)
        weights: Vector = np.fromfile(work.weights, "<f4")
        rows = ShardRows((work.shard,))
        return {
            number: (await engine.train(weights, work.plan(number), rows, never, lambda _: None)).update
            for number in steps
        }
    finally:
        await engine.close()


def digest(update: Vector) -> str:
    """Returns the SHA-256 of an update's bytes; the worker gives no update that is not finite."""
    return hashlib.sha256(update.astype("<f4").tobytes()).hexdigest()
