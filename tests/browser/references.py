"""Bundles with Keras' own results beside them, made once for each state of the converter."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache"
MODELS = ("mlp", "cnn", "resnet", "gpt", "lstm", "dropout")


def _fingerprint() -> str:
    """Hash of everything that a reference depends on, in this repository."""
    digest = hashlib.sha256()
    sources = [*(ROOT / "converter").glob("*.py"), ROOT / "converter" / "ops.json"]
    sources += [ROOT / "tests" / "conformance" / name for name in ("models.py", "reference.py")]
    for path in sorted(sources):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def references() -> Path:
    """The folder of `<model>/`, each a bundle with `reference/` in it; takes minutes the first time."""
    folder = CACHE / "conformance" / _fingerprint()
    if not folder.exists():
        making = folder.with_suffix(".making")
        for name in MODELS:
            if not (making / name / "reference" / "vector.bin").exists():
                _run("tests.conformance.reference", "-o", str(making), "--only", name)
        making.rename(folder)
    return folder


def _run(module: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout}\n{done.stderr[-4000:]}")
    return done.stdout


def native_results(folder: Path) -> str:
    """What TensorFlow computes from the bundles' native graphs, as JSON; see tests/browser/native.py."""
    return _run("tests.browser.native", str(folder))


def build_harness() -> Path:
    """Builds the harness page with Vite; returns its folder."""
    vite = ROOT / "node_modules" / ".bin" / "vite"
    command = [str(vite), "build", "--config", "tests/browser/vite.config.ts", "--logLevel", "error"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"The harness did not build:\n{done.stdout}\n{done.stderr}")
    return CACHE / "harness"
