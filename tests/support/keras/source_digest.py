"""Digests the sources of references, so that changed sources renew them. Needs no TensorFlow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[3]
ZOO = Path(__file__).parent / "zoo"
OWN = [Path(__file__).parent / f"{name}.py" for name in ("cases", "recipes", "reference", "values")]


def digest(paths: Iterable[Path]) -> str:
    """Returns a hash of files, including their names."""
    state = hashlib.sha256()
    for path in sorted(paths):
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()[:16]


def converter_sources() -> list[Path]:
    """Returns all files of this repository on which a conversion depends."""
    return [*(ROOT / "converter").rglob("*.py"), ROOT / "converter" / "ops.json"]


def sources_digest(family: str) -> str:
    """Returns a hash of all sources on which a family's cases (a module of the zoo) depend."""
    return digest([*converter_sources(), *OWN, *ZOO.glob(f"{family}*.py")])


def is_fresh(folder: Path) -> bool:
    """Returns whether `folder` holds a case's bundle and reference, made from the current sources."""
    made = folder / "reference" / "case.json"
    if not made.exists():
        return False
    case = json.loads(made.read_text("utf-8"))
    return bool(case["made_from"] == sources_digest(case["family"]))
