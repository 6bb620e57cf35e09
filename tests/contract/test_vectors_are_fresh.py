"""Every golden file is what its script makes today. After a change that is meant, run the script it names."""

from __future__ import annotations

import base64
import importlib
import io
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.contract.vectors import HERE

SCRIPTS = sorted(
    ".".join(script.relative_to(HERE).with_suffix("").parts) for script in HERE.rglob("make_*.py")
)
# Made by no script that runs here: answers of a search, and results of other implementations, written down.
WRITTEN = {"gaussian.json", "robust/byzfl.json", "search.json"}
ARCHIVES = "preprocess/npz.json"


@cache
def made(script: str) -> dict[str, str]:
    files: dict[str, str] = importlib.import_module(f"tests.contract.vectors.{script}").files()
    return files


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_golden_file_is_what_its_script_makes(script: str) -> None:
    for name, content in made(script).items():
        committed = (HERE / name).read_text("utf-8")
        same = unpacked(committed) == unpacked(content) if name == ARCHIVES else committed == content
        assert same, f"{name} is out of date: run python -m tests.contract.vectors.{script}"


def unpacked(content: str) -> list[dict[str, Any]]:
    """Cases with the content of their archives: what compression makes of it depends on zlib."""
    return [case | {"npz": arrays(base64.b64decode(case["npz"]))} for case in json.loads(content)]


def arrays(archive: bytes) -> dict[str, tuple[str, bool, tuple[int, ...], bytes]]:
    """Type, order, shape and bytes of each array."""
    with np.load(io.BytesIO(archive)) as found:
        return {
            name: (one.dtype.str, bool(one.flags.c_contiguous), one.shape, one.tobytes())
            for name, one in found.items()
        }


def test_every_golden_file_has_its_script() -> None:
    committed = {file.relative_to(HERE).as_posix() for file in HERE.rglob("*.json")}
    assert committed == WRITTEN.union(*map(made, SCRIPTS))
