"""Caches bundles with Keras' own results: `python -m tests.support.keras.reference_cache [CASE...]`."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.support.keras.source_digest import ZOO, digest, is_fresh
from tests.support.programs.program_process import Preload, run

ROOT = Path(__file__).parents[3]
CACHE = ROOT / ".cache"
CONFORMANCE = CACHE / "conformance"
# The cases that `make test` trains: they hold most kinds of layers, state and random numbers.
# `make test-long` trains all.
SHORT = (
    "accumulated",
    "bag-of-words",
    "cnn",
    "depthwise",
    "dropout",
    "encoder-decoder",
    "gpt",
    "group-normalization",
    "lstm",
    "masked",
    "mlp",
    "resnet",
    "several-outputs",
)


def references(*names: str) -> Path:
    """Returns the folder of `<case>/`, each a bundle with `reference/` in it.

    Without names these are all cases of the zoo. Only missing or outdated cases are made, which takes minutes
    for all of them.
    """
    wanted = names or case_names()
    if not wanted or not all(is_fresh(CONFORMANCE / name) for name in wanted):
        run_module("tests.support.keras.reference", "-o", str(CONFORMANCE), *names)
    return CONFORMANCE


def by_lane(names: Iterable[str]) -> list[ParameterSet]:
    """Returns parameters of a test for these cases; those outside SHORT are long."""
    return [pytest.param(name, marks=() if name in SHORT else pytest.mark.long) for name in names]


def case_names() -> list[str]:
    """Returns the zoo's cases as `references()` stored them; [] if the zoo has changed since."""
    index = CONFORMANCE / "index.json"
    table = json.loads(index.read_text("utf-8")) if index.exists() else {}
    return list(table["names"]) if table.get("zoo") == digest(ZOO.glob("*.py")) else []


def run_module(module: str, *arguments: str) -> str:
    """Runs a module of this repository and returns its output, however long it takes.

    Raises RuntimeError with its output if it fails.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout}\n{done.stderr[-4000:]}")
    return done.stdout


def native_results(folders: list[Path]) -> str:
    """Returns TensorFlow's results of the bundles' native graphs, as JSON (native_results.py)."""
    done = run(Preload.TENSORFLOW, "tests.support.keras.native_results", *folders)
    if done.returncode:
        raise RuntimeError(f"The native results were not computed:\n{done.stderr[-4000:]}")
    return done.stdout


def build_harness() -> Path:
    """Returns the folder of the harness page, which Vite builds if its sources changed.

    Tests run in parallel: only one of them builds, and no build removes files that another test serves.
    """
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "harness.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, sources = CACHE / "harness.digest", _harness_sources()
        if not stamp.exists() or stamp.read_text("utf-8") != sources:
            stamp.unlink(missing_ok=True)
            _build_harness()
            stamp.write_text(sources, "utf-8")
    return CACHE / "harness"


def _harness_sources() -> str:
    folders = (ROOT / "webapp" / "static" / "src", ROOT / "tests" / "support" / "browser" / "harness")
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    settings = (
        ROOT / "vite.config.ts",
        ROOT / "tests/support/browser/vite.config.ts",
        ROOT / "package-lock.json",
    )
    return digest([*files, *settings])


def _build_harness() -> None:
    vite = ROOT / "node_modules" / ".bin" / "vite"
    command = [str(vite), "build", "--config", "tests/support/browser/vite.config.ts", "--logLevel", "error"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The harness did not build:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    references(*sys.argv[1:])
