"""Compares the bits of the same training on every engine of the class `exact`, and what exactness costs.

Usage: python -m benchmarks.exactness [--models NAME...] [--engines NAME...] [--steps N...] [--no-ops]
       [--quick] [--json]

Tasks of the gallery, cases of the conformance zoo, and others on random examples (a CNN, a ResNet, a GPT)
are trained from the same weights, on the same shard, by the same plans: in headless Chromium, in Firefox and
in WebKitGTK (Debian's firefox-esr, webkit2gtk-driver and xvfb) with one, two and three threads, in Node.js,
where a headless peer trains, and with `--engines ... arm64` in Node.js on an emulated ARM64
(`scripts/setup.sh arm64`). A row has the SHA-256 of the update after the plan, and in `groups` how many
different ones the engines have, which must be 1.

The cases of the op suite run in the same engines: `op_differences` counts those whose outputs have other bits
in one of them, but for the sign and payload of NaN.

For comparison Chromium trains with the relaxed instructions that other tasks take, too: `relaxed_distance` is
how far that leads, and `relaxed_cost` is what a step of the class takes beside one of theirs, in turns on one
thread.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.vectors import Vector
from benchmarks.support import exact_ops
from benchmarks.support.exact_models import GALLERY, MADE, ZOO, prepare
from tests.support.browser.chromium import chromium
from tests.support.browser.static_site import serve
from tests.support.exact.arm64 import arm64_node
from tests.support.exact.engines import BROWSERS, Browser, TrainingPage, digest, train_in_node
from tests.support.exact.work import Work
from tests.support.keras.reference_cache import build_harness

MODELS = (*GALLERY, *MADE, *ZOO)
STEPS = (1, 10, 50, 200)
ENGINES = (*BROWSERS, "node", "arm64")
USUAL = (*BROWSERS, "node")
QUICK_MODELS, QUICK_STEPS = ("digits", "text-lstm"), (1, 10)
THREADS = (1, 2, 3)
# Turns of the two arithmetics whose best steps are compared, and steps in each.
TURNS, TIMED = 3, 20


@dataclass(frozen=True)
class Engines:
    """Running browsers and programs of Node.js by the names of engines; None is this machine's Node.js."""

    browsers: Mapping[str, Browser]
    nodes: Mapping[str, Path | None]

    def updates(self, work: Work, origin: str, steps: Sequence[int]) -> dict[str, dict[int, Vector]]:
        """Returns the updates after each number of steps, by engine."""
        found = {name: asyncio.run(train_in_node(work, steps, node)) for name, node in self.nodes.items()}
        for name, threads in itertools.product(self.browsers, THREADS):
            with closing(TrainingPage(self.browsers[name], origin, work, "exact", threads)) as page:
                found[f"{name}, {threads} threads"] = {number: page.train(number)[0] for number in steps}
        return found


def start(names: Sequence[str], stack: ExitStack, folder: Path) -> Engines:
    """Starts engines; `stack` ends them."""
    browsers = {name: stack.enter_context(BROWSERS[name]()) for name in names if name in BROWSERS}
    nodes: dict[str, Path | None] = {"node": None} if "node" in names else {}
    if "arm64" in names:
        nodes["node on arm64"] = arm64_node(folder)
    return Engines(browsers, nodes)


def measure(
    models: Sequence[str], steps: Sequence[int], names: Sequence[str] = USUAL, *, ops: bool = True
) -> dict[str, Any]:
    """Returns a row for each engine, model and number of steps, and summaries of models and ops."""
    rows: list[dict[str, Any]] = []
    summary = []
    with ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="minga-exactness-")))
        engines = start(names, stack, temporary)
        beside = stack.enter_context(chromium())
        for model in models:
            print(f"{model} ...", file=sys.stderr, flush=True)
            work = prepare(temporary / model, model)
            with serve({"/harness/": build_harness(), "/blobs/": work.folder}) as origin:
                updates = engines.updates(work, origin, steps)
                found = rows_of(model, updates)
                exact = next(iter(updates.values()))[steps[-1]]
                relaxed = _beside_relaxed(beside, origin, work, steps[-1], exact)
            rows += found
            groups = max(row["groups"] for row in found)
            summary.append({"model": model, "engines": len(updates), "groups": groups, **relaxed})
        compared = exact_ops.compare(engines.browsers, engines.nodes) if ops else {}
    return {"rows": rows, "models": summary, **compared}


def rows_of(model: str, updates: Mapping[str, Mapping[int, Vector]]) -> list[dict[str, Any]]:
    """Returns a row for each engine and number of steps; `groups` counts the different hashes of all."""
    hashes = {engine: {n: digest(update) for n, update in by.items()} for engine, by in updates.items()}
    groups = {n: len({by[n] for by in hashes.values()}) for by in hashes.values() for n in by}
    return [
        {"model": model, "engine": engine, "steps": n, "sha256": one, "groups": groups[n]}
        for engine, by in hashes.items()
        for n, one in by.items()
    ]


def _beside_relaxed(
    browser: Browser, origin: str, work: Work, steps: int, exact_update: Vector
) -> dict[str, float]:
    """Returns the distance of the relaxed kernels' update, and the ratio of the best steps."""
    pages = {name: TrainingPage(browser, origin, work, name, 1) for name in ("exact", "wasm")}
    # Both train first: an engine compiles better what ran for a while.
    relaxed_update = {name: page.train(steps)[0] for name, page in pages.items()}["wasm"]
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
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(USUAL))
    parser.add_argument("--steps", nargs="+", type=int, default=None, help=f"default {STEPS}")
    parser.add_argument("--no-ops", action="store_true", help="leave the cases of the op suite out")
    parser.add_argument("--quick", action="store_true", help="two models, at most ten steps, no ops")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    models = args.models or (QUICK_MODELS if args.quick else MODELS)
    steps = args.steps or (QUICK_STEPS if args.quick else STEPS)
    result = measure(models, steps, args.engines, ops=not (args.quick or args.no_ops))
    print(json.dumps(result, indent=1) if args.json else _table(result))
    different = result.get("op_differences", 0) or any(one["groups"] != 1 for one in result["models"])
    sys.exit(1 if different else 0)


def _table(result: Mapping[str, Any]) -> str:
    lines = [f"{'model':20} {'engines':>7} {'groups':>6} {'exact':>9} {'relaxed':>9} {'cost':>6} distance"]
    lines += [
        f"{one['model']:20} {one['engines']:7} {one['groups']:6} {one['exact_step_ms']:6.1f} ms "
        f"{one['relaxed_step_ms']:6.1f} ms {one['relaxed_cost']:6.2f} {one['relaxed_distance']:8.1e}"
        for one in result["models"]
    ]
    if "op_cases" in result:
        lines.append(f"{result['op_cases']} cases of ops, {result['op_differences']} differ")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
