"""Writes the gallery's digits as a mesh task, which peers average without a server."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

COORDINATION = """[coordination]
scheme = "decentralized"
{lines}

[coordination.averaging]
{averaging}
"""
USUAL = {"min_available_clients": 3, "deadline": 60, "adaptive_deadline": False, "gather": 1}


def write_digits(
    source: Path, folder: Path, averaging: dict[str, Any] | None = None, *, masked: bool = False, **more: Any
) -> Path:
    """Writes the mesh task of the built gallery's folder `source` into `folder`.

    `more` goes into [coordination], `averaging` below it. Where groups are `masked`, three members are
    needed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.py", "README.md"))
    file = folder / "task.toml"
    table = COORDINATION.format(
        lines=_lines(USUAL | ({"quorum": 3} if masked else {}) | more),
        averaging=_lines({"patience": 3.0} | (averaging or {})),
    )
    text = re.sub(r"\[coordination\]\n.*?\n(?=\[)", table + "\n", file.read_text("utf-8"), flags=re.DOTALL)
    security = '[security]\naggregation = ["masked"]\n\n' if masked else ""
    text = re.sub(r"\[security\]\n.*?\n(?=\[)", security, text, flags=re.DOTALL)
    file.write_text(text, "utf-8")
    return folder


def write_byzantine_digits(
    source: Path,
    folder: Path,
    byzantine: dict[str, Any] | None = None,
    averaging: dict[str, Any] | None = None,
    *,
    training: dict[str, Any] | None = None,
    **more: Any,
) -> Path:
    """Writes the digits of `source` into `folder` as a mesh task whose members check each other.

    `byzantine` goes into [coordination.byzantine], `training` into [training], the others as above.
    """
    write_digits(source, folder, averaging, **more)
    file = folder / "task.toml"
    text = file.read_text("utf-8").replace("shards_per_client = 4\n", "")
    plan = _lines({"steps": 10} | (training or {}))
    text = re.sub(r"\[training\]\n.*?\n(?=\[)", f"[training]\n{plan}\n\n", text, flags=re.DOTALL)
    file.write_text(f"{text}\n[coordination.byzantine]\n{_lines(byzantine or {})}\n", "utf-8")
    return folder


def _lines(values: dict[str, Any]) -> str:
    return "\n".join(f"{key} = {_toml(value)}" for key, value in values.items())


def _toml(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
