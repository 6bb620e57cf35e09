"""Bundles with Keras' own results beside them: `python -m tests.browser.references` makes what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.conformance.made import ZOO, digest, is_fresh

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
CONFORMANCE = CACHE / "conformance"


def references(*names: str) -> Path:
    """The folder of `<case>/`, each a bundle with `reference/` in it; all cases of the zoo if none is named.

    Only what is missing or was made from other sources is made: minutes for all of them.
    """
    wanted = names or case_names()
    if not wanted or not all(is_fresh(CONFORMANCE / name) for name in wanted):
        run_module("tests.conformance.reference", "-o", str(CONFORMANCE), *names)
    return CONFORMANCE


def case_names() -> list[str]:
    """The zoo's cases as `references()` wrote them down; [] if the zoo is another one by now."""
    index = CONFORMANCE / "index.json"
    table = json.loads(index.read_text("utf-8")) if index.exists() else {}
    return list(table["names"]) if table.get("zoo") == digest(ZOO.glob("*.py")) else []


def run_module(module: str, *arguments: str) -> str:
    """What a module of this repository prints when it is run. Raises RuntimeError with its complaint."""
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout}\n{done.stderr[-4000:]}")
    return done.stdout


def native_results(folders: list[Path]) -> str:
    """What TensorFlow computes from the bundles' native graphs, as JSON; see tests/browser/native.py."""
    return run_module("tests.browser.native", *map(str, folders))


def build_harness() -> Path:
    """Builds the harness page with Vite; returns its folder."""
    vite = ROOT / "node_modules" / ".bin" / "vite"
    command = [str(vite), "build", "--config", "tests/browser/vite.config.ts", "--logLevel", "error"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The harness did not build:\n{done.stdout}\n{done.stderr}")
    return CACHE / "harness"


if __name__ == "__main__":
    references()
