"""What a reference was made from, so that it is made again exactly when that changes. Needs no TensorFlow."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[3]
ZOO = Path(__file__).parent / "zoo"
OWN = [Path(__file__).parent / f"{name}.py" for name in ("cases", "recipes", "reference", "values")]


def digest(paths: Iterable[Path]) -> str:
    """Hash of files, their names included."""
    state = hashlib.sha256()
    for path in sorted(paths):
        state.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return state.hexdigest()[:16]


def converter_sources() -> list[Path]:
    """Everything that a conversion depends on, in this repository."""
    return [*(ROOT / "converter").rglob("*.py"), ROOT / "converter" / "ops.json"]


def sources_digest(family: str) -> str:
    """Hash of everything in this repository that the cases of a family (a module of the zoo) depend on."""
    return digest([*converter_sources(), *OWN, *ZOO.glob(f"{family}*.py")])


def is_fresh(folder: Path) -> bool:
    """Whether `folder` holds a case's bundle and reference, made from what is here now."""
    made = folder / "reference" / "case.json"
    if not made.exists():
        return False
    case = json.loads(made.read_text("utf-8"))
    return bool(case["made_from"] == sources_digest(case["family"]))
