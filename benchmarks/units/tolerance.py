"""Measures the distance between results of the same work by unlike kernels.

Usage: python -m benchmarks.units.tolerance [--models NAME...] [--sides NAME...] [--steps N...]
[--starts N...] [--seeds N] [--quick] [--from FILE...] [--json] [--write]

The comparison of strangers' results uses these distances. Models of the gallery are trained by the same plans
(seed, rows, weights, steps) in headless Chromium and by the TensorFlow peer, from their first weights and
from partly trained ones. The sides are backends, some of them with other kernels: TensorFlow without oneDNN
or on one thread, WASM without SIMD or with three threads. For each pair the output gives the distance between
their updates, relative to the longer one, and the angle as 1 - cosine; for comparison also the same for a
cheat who did half of the steps, and for noise. `--from` reads the JSON that earlier runs printed. `--write`
writes the distances by number of steps, times a margin, into backend/server/units/validation/tolerances.json;
those of longer work than was measured stay.
They do not depend on which two kernels are compared: any difference in rounding can turn one unit of a
network on or off, and from there on its part of the update differs. No real graphics card was measured.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.aggregation.result_agreement import Likeness, likeness
from backend.numerics.vectors import Vector
from backend.server.units.validation.tolerances import TABLE
from benchmarks.units.tolerance_data import NETWORKS, SOURCES, source_file
from benchmarks.units.tolerance_table import Cheat, Gap, summary, tolerance_table
from tests.support.browser.chromium import Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness

# How each TensorFlow peer is started: its environment, and its number of threads (0: TensorFlow's choice).
NATIVE: dict[str, tuple[dict[str, str], int]] = {
    "tensorflow": ({"TF_ENABLE_ONEDNN_OPTS": "1"}, 0),
    "tensorflow-plain": ({"TF_ENABLE_ONEDNN_OPTS": "0"}, 0),
    "tensorflow-thread": ({"TF_ENABLE_ONEDNN_OPTS": "1"}, 1),
}
# The kernels of WASM; others are the page's choice.
WASM: dict[str, dict[str, Any]] = {
    "wasm": {},
    "wasm-plain": {"simd": False},
    "wasm-threads": {"threads": 3},
}
SIDES = (*NATIVE, *WASM, "webgl", "webgpu", "cpu")
# The starts of plans, in steps after the first weights, and the lengths of plans in steps.
STARTS, STEPS = (0, 100), (1, 4, 10, 16, 24, 32, 64)
SEEDS = 8
# Emulated GPUs and plain JavaScript take seconds for a step: their plans are shorter, and have one seed.
SLOW, SHORT = ("webgl", "webgpu", "cpu"), 16
MODELS: dict[str, tuple[str, ...]] = {
    "digits": SIDES,
    "titanic": SIDES,
    "cifar10": (*NATIVE, *WASM, "webgl"),
    "noise": (*NATIVE, *WASM),
    "text-lstm": (*NATIVE, *WASM, "webgl"),
    "shakespeare": (*NATIVE, "wasm"),
}
FIRST_SEED = 12345


@dataclass(frozen=True)
class Extent:
    """The lengths of plans in steps, and the number of seeds, of which each has a plan of every length."""

    steps: Sequence[int] = STEPS
    seeds: int = SEEDS
    starts: Sequence[int] = STARTS

    def plans(self, side: str) -> Iterable[tuple[int, int, int]]:
        """Returns start, seed and steps of each plan of a side."""
        seeds = range(FIRST_SEED, FIRST_SEED + (1 if side in SLOW else self.seeds))
        steps = [number for number in self.steps if side not in SLOW or number <= SHORT]
        return itertools.product(self.starts, seeds, steps)


def measure(models: Iterable[str], sides: Sequence[str], extent: Extent) -> tuple[list[Gap], list[Cheat]]:
    """Returns all gaps between pairs of sides, and the cheats' distances from native updates."""
    gaps: list[Gap] = []
    cheats: list[Cheat] = []
    with tempfile.TemporaryDirectory(prefix="minga-tolerance-") as temporary, chromium() as browser:
        for model in models:
            folder = _prepare(Path(temporary) / model, model, extent)
            here = [side for side in sides if side in MODELS[model]]
            for side in (side for side in here if side in NATIVE):
                _note(f"{model}: {side}")
                environment, threads = NATIVE[side]
                arguments = [str(folder), side, str(threads)]
                _run("benchmarks.units.native_results", *arguments, **environment)
            with serve({"/harness/": build_harness(), "/blobs/": folder / "blobs"}) as origin:
                for side in (side for side in here if side not in NATIVE):
                    _note(f"{model}: {side}")
                    tab = browser.open(f"{origin}/harness/index.html")
                    if WASM.get(side):
                        tab.evaluate("options => window.chooseKernels(options)", WASM[side])
                    _train(tab, origin, folder, side, extent)
                    tab.close()
            gaps += _gaps(model, folder, extent)
            cheats += _cheats(model, folder, extent)
    return gaps, cheats


def _prepare(folder: Path, model: str, extent: Extent) -> Path:
    """Creates a folder with the model's bundle, a shard of its data, the plans, and blobs by address."""
    source = ROOT / "models" / NETWORKS.get(model, model)
    folder.mkdir()
    shutil.copytree(source / "built" / "bundle", folder / "bundle")
    shards = source / "built" / "shards"
    if model in SOURCES:
        shards = folder / "shards"
        shutil.copy(source / "task.toml", folder / "task.toml")
        arguments = ["--task", str(folder / "task.toml"), "-o", str(shards)]
        _run("backend", "shard", str(source_file(folder, model)), *arguments)
    first = json.loads((shards / "shards.json").read_text("utf-8"))["train"][0]["file"]
    shutil.copy(shards / first, folder / "data.shard")
    task = tomllib.loads((source / "task.toml").read_text("utf-8"))
    rate = task["model"]["optimizer"]["learning_rate"]
    plans = {
        "starts": extent.starts,
        "steps": extent.steps,
        "seeds": list(range(FIRST_SEED, FIRST_SEED + extent.seeds)),
        "learning_rate": rate,
    }
    (folder / "wanted.json").write_text(json.dumps(plans), "utf-8")
    (folder / "blobs").mkdir()
    for path in (*(folder / "bundle").rglob("*"), folder / "data.shard"):
        if path.is_file():
            _put(folder, path.read_bytes())
    return folder


def _put(folder: Path, content: bytes) -> str:
    address = hashlib.sha256(content).hexdigest()
    (folder / "blobs" / address).write_bytes(content)
    return address


def _train(tab: Tab, origin: str, folder: Path, side: str, extent: Extent) -> None:
    """Runs all plans in a page's training worker, as volunteers' pages use it."""
    backend = side.partition("-")[0]
    bundle = _put(folder, (folder / "bundle" / "bundle.json").read_bytes())
    shard = _put(folder, (folder / "data.shard").read_bytes())
    setup: dict[str, Any] = {"backend": backend, "avoid": [], "sliced": None}
    loaded = _tell(tab, "loaded", type="load", origin=origin, bundle=bundle, setup=setup)
    if loaded["backend"] != backend:
        raise RuntimeError(f"The page took {loaded['backend']} and not {backend}.")
    plans = json.loads((folder / "wanted.json").read_text("utf-8"))
    size = json.loads((folder / "bundle" / "bundle.json").read_text("utf-8"))["batch_size"]
    for start, seed, steps in extent.plans(side):
        plan = {
            "epochs": 0,
            "steps": steps,
            "batchSize": size,
            "learningRate": plans["learning_rate"],
            "pastSteps": 0,
            "seed": seed,
            "proximalMu": 0.0,
            "control": None,
            "privacy": None,
            "protection": None,
            "until": None,
            "shards": [shard],
        }
        weights = _put(folder, (folder / f"{start}.weights").read_bytes())
        update = _tell(tab, "trained", type="train", weights=weights, plan=plan)["update"]
        (folder / f"{start}.{seed}.{steps}.{side}").write_bytes(np.array(update, "<f4").tobytes())


def _tell(tab: Tab, answered: str, **message: Any) -> dict[str, Any]:
    answer: dict[str, Any] = tab.evaluate("message => window.tell(message)", {**message, "id": 1})[-1]
    if answer["type"] != answered:
        raise RuntimeError(f"The worker answered {answer}.")
    return answer


def _gaps(model: str, folder: Path, extent: Extent) -> list[Gap]:
    gaps = []
    for start, seed, steps in extent.plans(""):
        paths = sorted(folder.glob(f"{start}.{seed}.{steps}.*"))
        sides = {path.suffix[1:]: _read(path) for path in paths}
        for (first, first_update), (second, second_update) in itertools.combinations(sides.items(), 2):
            similarity = likeness(first_update, second_update)
            distance, turn = similarity.distance, _turn(similarity)
            gaps.append(Gap(model, start, seed, steps, first, second, distance, turn))
    return gaps


def _cheats(model: str, folder: Path, extent: Extent) -> list[Cheat]:
    cheats = []
    generator = np.random.default_rng(FIRST_SEED)
    native = next(iter(NATIVE))
    for start, seed, steps in extent.plans(native):
        full_update = _read(folder / f"{start}.{seed}.{steps}.{native}")
        half = folder / f"{start}.{seed}.{steps // 2}.{native}"
        # Half of one step is none.
        half_update = _read(half) if half.exists() else np.zeros_like(full_update)
        noise = generator.normal(0, 1, len(full_update))
        noise *= np.linalg.norm(full_update) / np.linalg.norm(noise)
        noise_distance = likeness(full_update, noise.astype(np.float32)).distance
        half_distance = likeness(full_update, half_update).distance
        cheats.append(Cheat(model, start, seed, steps, half_distance, noise_distance))
    return cheats


def _turn(similarity: Likeness) -> float:
    return max(0.0, 1.0 - similarity.cosine)


def _read(path: Path) -> Vector:
    return np.fromfile(path, "<f4").astype(np.float32)


def _run(module: str, *arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, check=False, capture_output=True, text=True
    )
    if process.returncode:
        raise RuntimeError(f"{module} failed:\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}")
    return process.stdout


def _earlier(files: Iterable[Path]) -> tuple[list[Gap], list[Cheat]]:
    """Reads the measurements of earlier runs."""
    runs = [json.loads(path.read_text("utf-8")) for path in files]
    gaps = [Gap(**gap) for run in runs for gap in run["gaps"]]
    return gaps, [Cheat(**cheat) for run in runs for cheat in run["cheats"]]


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measures, prints, and writes the table on request."""
    parser = argparse.ArgumentParser(description="How far apart results of the same work are.")
    parser.add_argument("--models", nargs="+", choices=tuple(MODELS), default=list(MODELS))
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--steps", nargs="+", type=int, default=list(STEPS), help="of plans")
    parser.add_argument("--starts", nargs="+", type=int, default=list(STARTS), help="steps before the plans")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"plans of each length; default {SEEDS}")
    parser.add_argument("--from", nargs="+", type=Path, dest="files", help="JSON of earlier runs")
    parser.add_argument("--quick", action="store_true", help="digits on WASM and TensorFlow, 2 seeds")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    args = parser.parse_args()
    if args.files:
        gaps, cheats = _earlier(args.files)
    elif args.quick:
        gaps, cheats = measure(["digits"], [*NATIVE, "wasm"], Extent(seeds=2))
    else:
        gaps, cheats = measure(args.models, args.sides, Extent(args.steps, args.seeds, args.starts))
    tolerances = tolerance_table(gaps, json.loads(TABLE.read_text("utf-8")))
    if args.json:
        rows = {"gaps": [asdict(gap) for gap in gaps], "cheats": [asdict(cheat) for cheat in cheats]}
        print(json.dumps({**rows, "table": tolerances}, indent=1))
    else:
        for line in summary(gaps, cheats):
            print(line)
    if args.write:
        TABLE.write_text(json.dumps(tolerances, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
