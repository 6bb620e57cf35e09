"""Measures the distance between results of the same work on different backends.

Usage: python -m benchmarks.units.tolerance [--models NAME...] [--backends NAME...] [--steps N...] [--quick]
[--from FILE...] [--json] [--write]

The comparison of strangers' results uses these distances. Models of the gallery are trained by the same plans
(seed, rows, weights, steps) in headless Chromium on each of its backends and by the TensorFlow peer, from
their first weights and from partly trained ones. For each pair of backends the output gives the largest
distance between their updates, relative to the longer one, and the widest angle as 1 - cosine; for comparison
also the same for a cheat who did half of the steps, and for noise. `--from` reads the JSON that earlier runs
printed. `--write` writes the distances, times MARGIN and at least MIN_DISTANCE, into
backend/server/units/validation/tolerances.json. Two browsers of one backend may have different graphics
cards, which one machine does not have: for them, and for backends that were not measured, the table uses the
largest distance of this backend, or any, from another.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from backend.numerics.aggregation.result_agreement import Likeness, likeness
from backend.numerics.vectors import Vector
from backend.server.units.validation.tolerances import TABLE
from benchmarks.pages.owner_walk import DATA
from tests.support.browser.chromium import Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import ROOT, build_harness

NATIVE = "tensorflow-cpu"
BACKENDS = ("wasm", "webgl", "webgpu", "cpu")
# The starts of plans, in steps after the first weights, and the lengths of plans in steps.
STARTS, STEPS = (0, 100), (4, 16, 64)
# Emulated GPUs and plain JavaScript take seconds for a step, so their plans are shorter and models fewer.
SHORT = {"webgl": 16, "webgpu": 16, "cpu": 16}
MODELS: dict[str, tuple[str, ...]] = {
    "digits": BACKENDS,
    "titanic": BACKENDS,
    "cifar10": ("wasm", "webgl"),
    "text-lstm": ("wasm", "webgl"),
    "shakespeare": ("wasm",),
}
# Other source files of the gallery's data.
SOURCES = {"titanic": "titanic.csv", "shakespeare": "tinyshakespeare.txt", "cifar10": "cifar10_train.zip"}
PICTURES_OF_A_CLASS = 20
SEED = 12345
# The table allows MARGIN times the measured distance, within these bounds: half of the work is farther.
MARGIN, MIN_DISTANCE, MAX_DISTANCE = 8.0, 1e-2, 0.25
# Up to so many steps rounding errors grow slowly.
FEW_STEPS = 64


@dataclass(frozen=True)
class Gap:
    """The distance between the updates of two sides for one plan."""

    model: str
    start: int
    steps: int
    first: str
    second: str
    distance: float
    turn: float


@dataclass(frozen=True)
class Cheat:
    """The distances from the full work of half the steps, and of noise of the same length."""

    model: str
    start: int
    steps: int
    half: float
    noise: float


def measure(
    models: Iterable[str], backends: Iterable[str], lengths: Sequence[int] = STEPS
) -> tuple[list[Gap], list[Cheat]]:
    """Returns all gaps between pairs of sides, and the cheats' distances from native updates."""
    gaps: list[Gap] = []
    cheats: list[Cheat] = []
    with tempfile.TemporaryDirectory(prefix="minga-tolerance-") as temporary, chromium() as browser:
        for model in models:
            folder = _prepare(Path(temporary) / model, model, lengths)
            _note(f"{model}: TensorFlow")
            _run("benchmarks.units.native_results", str(folder))
            with serve({"/harness/": build_harness(), "/blobs/": folder / "blobs"}) as origin:
                for backend in (name for name in backends if name in MODELS[model]):
                    _note(f"{model}: {backend}")
                    tab = browser.open(f"{origin}/harness/index.html")
                    _train(tab, origin, folder, backend)
                    tab.close()
            gaps += _gaps(model, folder, lengths)
            cheats += _cheats(model, folder, lengths)
    return gaps, cheats


def _prepare(folder: Path, model: str, lengths: Sequence[int]) -> Path:
    """Creates a folder with the model's bundle, a shard of its data, the plans, and blobs by address."""
    source = ROOT / "models" / model
    folder.mkdir()
    shutil.copytree(source / "built" / "bundle", folder / "bundle")
    shards = source / "built" / "shards"
    if model in SOURCES:
        shards = folder / "shards"
        shutil.copy(source / "task.toml", folder / "task.toml")
        arguments = ["--task", str(folder / "task.toml"), "-o", str(shards)]
        _run("backend", "shard", str(_data(folder, model)), *arguments)
    first = json.loads((shards / "shards.json").read_text("utf-8"))["train"][0]["file"]
    shutil.copy(shards / first, folder / "data.shard")
    task = tomllib.loads((source / "task.toml").read_text("utf-8"))
    rate = task["model"]["optimizer"]["learning_rate"]
    plans = {"starts": STARTS, "steps": lengths, "seed": SEED, "learning_rate": rate}
    (folder / "wanted.json").write_text(json.dumps(plans), "utf-8")
    (folder / "blobs").mkdir()
    for path in (*(folder / "bundle").rglob("*"), folder / "data.shard"):
        if path.is_file():
            _put(folder, path.read_bytes())
    return folder


def _data(folder: Path, model: str) -> Path:
    source_file = DATA / SOURCES[model]
    if source_file.suffix != ".zip":
        return source_file
    sample = folder / "pictures.zip"
    with zipfile.ZipFile(source_file) as source, zipfile.ZipFile(sample, "w") as target:
        by_class = itertools.groupby(sorted(source.namelist()), lambda name: name.partition("/")[0])
        for _, names in by_class:
            for name in itertools.islice(names, PICTURES_OF_A_CLASS):
                target.writestr(name, source.read(name))
    return sample


def _put(folder: Path, content: bytes) -> str:
    address = hashlib.sha256(content).hexdigest()
    (folder / "blobs" / address).write_bytes(content)
    return address


def _train(tab: Tab, origin: str, folder: Path, backend: str) -> None:
    """Runs all plans in a page's training worker, as volunteers' pages use it."""
    bundle = _put(folder, (folder / "bundle" / "bundle.json").read_bytes())
    shard = _put(folder, (folder / "data.shard").read_bytes())
    setup: dict[str, Any] = {"backend": backend, "avoid": [], "sliced": None}
    loaded = _tell(tab, "loaded", type="load", origin=origin, bundle=bundle, setup=setup)
    if loaded["backend"] != backend:
        raise RuntimeError(f"The page took {loaded['backend']} and not {backend}.")
    plans = json.loads((folder / "wanted.json").read_text("utf-8"))
    size = json.loads((folder / "bundle" / "bundle.json").read_text("utf-8"))["batch_size"]
    for start, steps in itertools.product(STARTS, plans["steps"]):
        if steps > SHORT.get(backend, steps):
            continue
        plan = {
            "epochs": 0,
            "steps": steps,
            "batchSize": size,
            "learningRate": plans["learning_rate"],
            "pastSteps": 0,
            "seed": SEED,
            "proximalMu": 0.0,
            "control": None,
            "privacy": None,
            "protection": None,
            "until": None,
            "shards": [shard],
        }
        weights = _put(folder, (folder / f"{start}.weights").read_bytes())
        update = _tell(tab, "trained", type="train", weights=weights, plan=plan)["update"]
        (folder / f"{start}.{steps}.{backend}").write_bytes(np.array(update, "<f4").tobytes())


def _tell(tab: Tab, answered: str, **message: Any) -> dict[str, Any]:
    answer: dict[str, Any] = tab.evaluate("message => window.tell(message)", {**message, "id": 1})[-1]
    if answer["type"] != answered:
        raise RuntimeError(f"The worker answered {answer}.")
    return answer


def _gaps(model: str, folder: Path, lengths: Sequence[int]) -> list[Gap]:
    gaps = []
    for start, steps in itertools.product(STARTS, lengths):
        paths = sorted(folder.glob(f"{start}.{steps}.*"))
        sides = {path.suffix[1:]: _read(path) for path in paths}
        for (first, first_update), (second, second_update) in itertools.combinations(sides.items(), 2):
            similarity = likeness(first_update, second_update)
            gaps.append(Gap(model, start, steps, first, second, similarity.distance, _turn(similarity)))
    return gaps


def _cheats(model: str, folder: Path, lengths: Sequence[int]) -> list[Cheat]:
    cheats = []
    generator = np.random.default_rng(SEED)
    for start, steps in itertools.product(STARTS, lengths):
        full_update, half_update = (
            _read(folder / f"{start}.{number}.{NATIVE}") for number in (steps, steps // 2)
        )
        noise = generator.normal(0, 1, len(full_update))
        noise *= np.linalg.norm(full_update) / np.linalg.norm(noise)
        noise_distance = likeness(full_update, noise.astype(np.float32)).distance
        cheats.append(Cheat(model, start, steps, likeness(full_update, half_update).distance, noise_distance))
    return cheats


def _turn(similarity: Likeness) -> float:
    return max(0.0, 1.0 - similarity.cosine)


def _read(path: Path) -> Vector:
    return np.fromfile(path, "<f4").astype(np.float32)


def table(gaps: list[Gap]) -> dict[str, Any]:
    """Returns the tolerance of each pair of backends for validation/tolerances.py."""
    short_plans = [gap for gap in gaps if gap.steps <= FEW_STEPS]
    longer = [gap for gap in gaps if gap.steps > FEW_STEPS] or gaps
    sides = sorted({side for gap in short_plans for side in (gap.first, gap.second)})

    def widest(group: list[Gap], names: tuple[str, str]) -> dict[str, Any]:
        distance = min(MAX_DISTANCE, max(MIN_DISTANCE, MARGIN * max(gap.distance for gap in group)))
        turn = min(MAX_DISTANCE**2, max(MIN_DISTANCE**2, MARGIN**2 * max(gap.turn for gap in group)))
        return {"backends": list(names), "distance": float(f"{distance:.3g}"), "turn": float(f"{turn:.3g}")}

    pairs = []
    for first, second in itertools.combinations_with_replacement(sides, 2):
        both = {first, second}
        matching = [gap for gap in short_plans if both <= {gap.first, gap.second}]
        pairs.append(widest(matching, (first, second)))
    either = ("*", "*")
    return {
        "steps": FEW_STEPS,
        "pairs": pairs,
        "other": widest(short_plans, either),
        "longer": widest(longer, either),
    }


def _run(module: str, *arguments: str) -> str:
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, check=False, capture_output=True, text=True
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
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--steps", nargs="+", type=int, default=list(STEPS), help="of plans; default 4 16 64")
    parser.add_argument("--from", nargs="+", type=Path, dest="files", help="JSON of earlier runs")
    parser.add_argument("--quick", action="store_true", help="digits on WASM only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    args = parser.parse_args()
    if args.files:
        gaps, cheats = _earlier(args.files)
    elif args.quick:
        gaps, cheats = measure(["digits"], ["wasm"])
    else:
        gaps, cheats = measure(args.models, args.backends, args.steps)
    tolerances = table(gaps)
    if args.json:
        rows = {"gaps": [asdict(gap) for gap in gaps], "cheats": [asdict(cheat) for cheat in cheats]}
        print(json.dumps({**rows, "table": tolerances}, indent=1))
    else:
        for gap in gaps:
            what = f"{gap.model:12} from {gap.start:3}, {gap.steps:2} steps"
            print(f"{what} {gap.first:15} {gap.second:15} {gap.distance:.1e} {gap.turn:.1e}")
        for cheat in cheats:
            what = f"{cheat.model:12} from {cheat.start:3}, {cheat.steps:2} steps"
            print(f"{what}: half of them {cheat.half:.2f}, noise {cheat.noise:.2f}")
    if args.write:
        TABLE.write_text(json.dumps(tolerances, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
