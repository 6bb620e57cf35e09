"""How far apart the same work's results are, by with what they were computed: what judges of strangers go by.

Usage: python -m benchmarks.units.tolerance [--models NAME...] [--backends NAME...] [--steps N...] [--quick]
                                      [--from FILE...] [--json] [--write]

Models of the gallery are trained by the same plans (seed, rows, weights, steps) in headless Chromium on each
of its backends and by the TensorFlow peer, from their first weights and from some that were trained already.
What is told of each pair of backends is the longest distance between their updates, relative to the longer
one, and the widest angle as 1 - cosine; and, to see what they have to be told from, the same of a cheat who
did half of the steps, and of noise. `--from` goes by what earlier runs printed as JSON. `--write` puts the
distances, times MARGIN and no less than LEAST, into backend/server/units/validation/tolerances.json. Two
browsers of one backend may have unlike graphics cards, which one machine does not have: for them, and for
backends that were not measured, the table takes the farthest that this backend, or any, is from another.
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
# Steps after the first weights at which plans begin, and steps of plans.
STARTS, STEPS = (0, 100), (4, 16, 64)
# Emulated GPUs and plain JavaScript take seconds for a step: shorter plans, and not every model.
SHORT = {"webgl": 16, "webgpu": 16, "cpu": 16}
MODELS: dict[str, tuple[str, ...]] = {
    "digits": BACKENDS,
    "titanic": BACKENDS,
    "cifar10": ("wasm", "webgl"),
    "text-lstm": ("wasm", "webgl"),
    "shakespeare": ("wasm",),
}
# What else the gallery's data are made of.
SOURCES = {"titanic": "titanic.csv", "shakespeare": "tinyshakespeare.txt", "cifar10": "cifar10_train.zip"}
PICTURES_OF_A_CLASS = 20
SEED = 12345
# The table allows so many times what was measured, within these bounds: half of the work is farther.
MARGIN, LEAST, MOST = 8.0, 1e-2, 0.25
# Up to so many steps rounding grows slowly.
FEW = 64


@dataclass(frozen=True)
class Gap:
    """Between the updates of two sides for one plan."""

    model: str
    start: int
    steps: int
    first: str
    second: str
    distance: float
    turn: float


@dataclass(frozen=True)
class Cheat:
    """How far from the whole work those are who did half of the steps, or nothing but noise as long."""

    model: str
    start: int
    steps: int
    half: float
    noise: float


def measure(
    models: Iterable[str], backends: Iterable[str], lengths: Sequence[int] = STEPS
) -> tuple[list[Gap], list[Cheat]]:
    """All gaps between pairs of sides, and those of cheats, of the native updates."""
    gaps: list[Gap] = []
    cheats: list[Cheat] = []
    with tempfile.TemporaryDirectory(prefix="minga-tolerance-") as place, chromium() as browser:
        for model in models:
            folder = _prepare(Path(place) / model, model, lengths)
            _note(f"{model}: TensorFlow")
            _run("benchmarks.units.native_results", str(folder))
            with serve({"/harness/": build_harness(), "/blobs/": folder / "blobs"}) as origin:
                for backend in (one for one in backends if one in MODELS[model]):
                    _note(f"{model}: {backend}")
                    tab = browser.open(f"{origin}/harness/index.html")
                    _train(tab, origin, folder, backend)
                    tab.close()
            gaps += _gaps(model, folder, lengths)
            cheats += _cheats(model, folder, lengths)
    return gaps, cheats


def _prepare(folder: Path, model: str, lengths: Sequence[int]) -> Path:
    """A folder with the model's bundle, a shard of its data, and what is wanted; files by address, too."""
    source = ROOT / "models" / model
    folder.mkdir()
    shutil.copytree(source / "built" / "bundle", folder / "bundle")
    shards = source / "built" / "shards"
    if model in SOURCES:
        shards = folder / "shards"
        shutil.copy(source / "task.toml", folder / "task.toml")
        words = ["--task", str(folder / "task.toml"), "-o", str(shards)]
        _run("backend", "shard", str(_data(folder, model)), *words)
    first = json.loads((shards / "shards.json").read_text("utf-8"))["train"][0]["file"]
    shutil.copy(shards / first, folder / "data.shard")
    task = tomllib.loads((source / "task.toml").read_text("utf-8"))
    rate = task["model"]["optimizer"]["learning_rate"]
    wanted = {"starts": STARTS, "steps": lengths, "seed": SEED, "learning_rate": rate}
    (folder / "wanted.json").write_text(json.dumps(wanted), "utf-8")
    (folder / "blobs").mkdir()
    for path in (*(folder / "bundle").rglob("*"), folder / "data.shard"):
        if path.is_file():
            _put(folder, path.read_bytes())
    return folder


def _data(folder: Path, model: str) -> Path:
    whole = DATA / SOURCES[model]
    if whole.suffix != ".zip":
        return whole
    few = folder / "pictures.zip"
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(few, "w") as target:
        by_class = itertools.groupby(sorted(source.namelist()), lambda name: name.partition("/")[0])
        for _, names in by_class:
            for name in itertools.islice(names, PICTURES_OF_A_CLASS):
                target.writestr(name, source.read(name))
    return few


def _put(folder: Path, content: bytes) -> str:
    address = hashlib.sha256(content).hexdigest()
    (folder / "blobs" / address).write_bytes(content)
    return address


def _train(tab: Tab, origin: str, folder: Path, backend: str) -> None:
    """All plans in a page's training worker, as volunteers' pages use it."""
    bundle = _put(folder, (folder / "bundle" / "bundle.json").read_bytes())
    shard = _put(folder, (folder / "data.shard").read_bytes())
    setup: dict[str, Any] = {"backend": backend, "avoid": [], "sliced": None}
    loaded = _tell(tab, "loaded", type="load", origin=origin, bundle=bundle, setup=setup)
    if loaded["backend"] != backend:
        raise RuntimeError(f"The page took {loaded['backend']} and not {backend}.")
    wanted = json.loads((folder / "wanted.json").read_text("utf-8"))
    size = json.loads((folder / "bundle" / "bundle.json").read_text("utf-8"))["batch_size"]
    for start, steps in itertools.product(STARTS, wanted["steps"]):
        if steps > SHORT.get(backend, steps):
            continue
        plan = {
            "epochs": 0,
            "steps": steps,
            "batchSize": size,
            "learningRate": wanted["learning_rate"],
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
        for (first, one), (second, other) in itertools.combinations(sides.items(), 2):
            found = likeness(one, other)
            gaps.append(Gap(model, start, steps, first, second, found.distance, _turn(found)))
    return gaps


def _cheats(model: str, folder: Path, lengths: Sequence[int]) -> list[Cheat]:
    found = []
    dice = np.random.default_rng(SEED)
    for start, steps in itertools.product(STARTS, lengths):
        whole, part = (_read(folder / f"{start}.{number}.{NATIVE}") for number in (steps, steps // 2))
        noise = dice.normal(0, 1, len(whole))
        noise *= np.linalg.norm(whole) / np.linalg.norm(noise)
        lie = likeness(whole, noise.astype(np.float32)).distance
        found.append(Cheat(model, start, steps, likeness(whole, part).distance, lie))
    return found


def _turn(found: Likeness) -> float:
    return max(0.0, 1.0 - found.cosine)


def _read(path: Path) -> Vector:
    return np.fromfile(path, "<f4").astype(np.float32)


def table(gaps: list[Gap]) -> dict[str, Any]:
    """What may lie between each two backends, as backend/server/units/validation/tolerances.py reads it."""
    few = [gap for gap in gaps if gap.steps <= FEW]
    longer = [gap for gap in gaps if gap.steps > FEW] or gaps
    sides = sorted({side for gap in few for side in (gap.first, gap.second)})

    def widest(among: list[Gap], names: tuple[str, str]) -> dict[str, Any]:
        distance = min(MOST, max(LEAST, MARGIN * max(gap.distance for gap in among)))
        turn = min(MOST**2, max(LEAST**2, MARGIN**2 * max(gap.turn for gap in among)))
        return {"backends": list(names), "distance": float(f"{distance:.3g}"), "turn": float(f"{turn:.3g}")}

    pairs = []
    for first, second in itertools.combinations_with_replacement(sides, 2):
        both = {first, second}
        same = [gap for gap in few if both <= {gap.first, gap.second}]
        pairs.append(widest(same, (first, second)))
    either = ("*", "*")
    return {"steps": FEW, "pairs": pairs, "other": widest(few, either), "longer": widest(longer, either)}


def _run(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def _earlier(files: Iterable[Path]) -> tuple[list[Gap], list[Cheat]]:
    """What other runs measured."""
    runs = [json.loads(path.read_text("utf-8")) for path in files]
    gaps = [Gap(**gap) for run in runs for gap in run["gaps"]]
    return gaps, [Cheat(**cheat) for run in runs for cheat in run["cheats"]]


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    """Measures, prints, and writes the table where it is asked to."""
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
    made = table(gaps)
    if args.json:
        rows = {"gaps": [asdict(gap) for gap in gaps], "cheats": [asdict(cheat) for cheat in cheats]}
        print(json.dumps({**rows, "table": made}, indent=1))
    else:
        for gap in gaps:
            what = f"{gap.model:12} from {gap.start:3}, {gap.steps:2} steps"
            print(f"{what} {gap.first:15} {gap.second:15} {gap.distance:.1e} {gap.turn:.1e}")
        for cheat in cheats:
            what = f"{cheat.model:12} from {cheat.start:3}, {cheat.steps:2} steps"
            print(f"{what}: half of them {cheat.half:.2f}, noise {cheat.noise:.2f}")
    if args.write:
        TABLE.write_text(json.dumps(made, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
