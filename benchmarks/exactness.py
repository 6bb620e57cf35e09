"""Compares the bits of the same training on every engine of the class `exact`, and what exactness costs.

Usage: python -m benchmarks.exactness [--models NAME...] [--engines NAME...] [--steps N...] [--quick] [--json]

Models of the gallery, and others on random examples (a CNN, a ResNet, a GPT), are trained from the same
weights, on the same shard, by the same plans: in headless Chromium, in Firefox and in WebKitGTK (Debian's
firefox-esr, webkit2gtk-driver and xvfb) with one, two and three threads, and in Node.js, where a headless
peer trains. A row has the SHA-256 of the update after the plan; `groups` counts the different ones, which
must be 1. For comparison Chromium trains with the relaxed instructions that other tasks take, too:
`relaxed_distance` is how far that leads, and `relaxed_cost` is what a step of the class takes beside one of
theirs, in turns on one thread.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from backend.numerics.vectors import Vector
from backend.peer.exact.exact_engine import ExactEngine
from backend.peer.training.engine import ShardRows
from backend.peer.training.step import never
from backend.peer.training.trainer import TrainingPlan
from benchmarks.support.exact_work import GALLERY, MADE, SEED, Work, prepare
from tests.support.browser.chromium import chromium
from tests.support.browser.firefox import firefox
from tests.support.browser.static_site import serve
from tests.support.browser.webkit import webkit
from tests.support.keras.reference_cache import build_harness
from tests.support.timeouts import LONG


class BrowserTab(Protocol):
    """A page at the harness."""

    def evaluate(self, script: str, argument: object = None, seconds: float = LONG) -> Any: ...

    def close(self) -> None: ...


class Browser(Protocol):
    """A browser that opens pages."""

    def open(self, address: str) -> BrowserTab: ...


MODELS = (*GALLERY, *MADE)
STEPS = (1, 10, 50, 200)
BROWSERS: dict[str, Callable[[], AbstractContextManager[Browser]]] = {
    "chromium": chromium,
    "firefox": firefox,
    "webkit": webkit,
}
QUICK_MODELS, QUICK_STEPS = ("digits", "text-lstm"), (1, 10)
THREADS = (1, 2, 3)
# Turns of the two arithmetics whose best steps are compared, and steps in each.
TURNS, TIMED = 3, 20


async def in_node(work: Work, steps: Sequence[int]) -> dict[int, Vector]:
    """Returns the updates of the plans by a headless peer's worker, by their steps."""
    engine = ExactEngine(work)
    try:
        await engine.load(work.bundle)
        weights: Vector = np.fromfile(work.weights, "<f4")
        updates = {}
        for number in steps:
            plan = TrainingPlan(
                epochs=0,
                steps=number,
                learning_rate=work.learning_rate,
                seed=SEED,
                batch_size=work.batch_size,
            )
            rows = ShardRows((work.shard,))
            updates[number] = (await engine.train(weights, plan, rows, never, lambda _: None)).update
        return updates
    finally:
        await engine.close()


class Page:
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
        trained = self._tell("trained", type="train", weights=weights, plan=self._work.plan(steps))
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


def measure(
    models: Sequence[str], steps: Sequence[int], engines: Sequence[str] = tuple(BROWSERS)
) -> dict[str, Any]:
    """Returns a row for each engine, model and number of steps, and a summary for each model."""
    rows: list[dict[str, Any]] = []
    summary = []
    with ExitStack() as stack:
        temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="minga-exactness-"))
        browsers = {name: stack.enter_context(BROWSERS[name]()) for name in engines}
        beside = stack.enter_context(chromium())
        for model in models:
            print(f"{model} ...", file=sys.stderr, flush=True)
            work = prepare(Path(temporary) / model, model)
            with serve({"/harness/": build_harness(), "/blobs/": work.folder}) as origin:
                updates = {"node": asyncio.run(in_node(work, steps))}
                for name, threads in itertools.product(browsers, THREADS):
                    with closing(Page(browsers[name], origin, work, "exact", threads)) as page:
                        updates[f"{name}, {threads} threads"] = {n: page.train(n)[0] for n in steps}
                found = [_row(model, engine, n, u) for engine, by in updates.items() for n, u in by.items()]
                groups = max(len({row["sha256"] for row in found if row["steps"] == n}) for n in steps)
                relaxed = _beside_relaxed(beside, origin, work, steps[-1], updates["node"][steps[-1]])
                rows += found
                summary.append({"model": model, "engines": len(updates), "groups": groups, **relaxed})
    return {"rows": rows, "models": summary}


def _row(model: str, engine: str, steps: int, update: Vector) -> dict[str, Any]:
    finite = bool(np.isfinite(update).all())
    digest = hashlib.sha256(update.astype("<f4").tobytes()).hexdigest()
    return {"model": model, "engine": engine, "steps": steps, "finite": finite, "sha256": digest}


def _beside_relaxed(
    browser: Browser, origin: str, work: Work, steps: int, exact_update: Vector
) -> dict[str, float]:
    """Returns the distance of the relaxed kernels' update, and the ratio of the best steps."""
    pages = {name: Page(browser, origin, work, name, 1) for name in ("exact", "wasm")}
    relaxed_update, _ = pages["wasm"].train(steps)
    best = dict.fromkeys(pages, float("inf"))
    for _ in range(TURNS):
        for name, page in pages.items():
            best[name] = min(best[name], page.train(TIMED)[1])
    for page in pages.values():
        page.close()
    distance = float(np.linalg.norm(relaxed_update - exact_update) / np.linalg.norm(exact_update))
    return {
        "relaxed_distance": distance,
        "exact_step_ms": round(best["exact"], 2),
        "relaxed_step_ms": round(best["wasm"], 2),
        "relaxed_cost": round(best["exact"] / best["wasm"], 3),
    }


def main() -> None:
    """Measures and prints; exit code 1 if any two engines differ."""
    parser = argparse.ArgumentParser(description="Whether all engines of the class `exact` agree.")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=None)
    parser.add_argument("--engines", nargs="+", choices=tuple(BROWSERS), default=list(BROWSERS))
    parser.add_argument("--steps", nargs="+", type=int, default=None, help=f"default {STEPS}")
    parser.add_argument("--quick", action="store_true", help="two models, at most ten steps")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    models = args.models or (QUICK_MODELS if args.quick else MODELS)
    result = measure(models, args.steps or (QUICK_STEPS if args.quick else STEPS), args.engines)
    if args.json:
        print(json.dumps(result, indent=1))
    else:
        print(f"{'model':12} {'engines':>7} {'groups':>6} {'exact':>9} {'relaxed':>9} {'cost':>6} distance")
        for one in result["models"]:
            print(
                f"{one['model']:12} {one['engines']:7} {one['groups']:6} {one['exact_step_ms']:6.1f} ms "
                f"{one['relaxed_step_ms']:6.1f} ms {one['relaxed_cost']:6.2f} {one['relaxed_distance']:8.1e}"
            )
    sys.exit(any(one["groups"] != 1 for one in result["models"]))


if __name__ == "__main__":
    main()
