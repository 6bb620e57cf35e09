"""Makes a small git repository and measures it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from scripts.layout.measure import Reader, count
from scripts.layout.settings import Settings, read_settings
from scripts.layout.tree import working_tree


def git(root: Path, *words: str) -> None:
    """Runs git as somebody without settings of their own."""
    who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def repository(root: Path, files: Mapping[str, str]) -> Path:
    """A repository of one commit that holds `files`."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet")
    return commit(root, files)


def commit(root: Path, files: Mapping[str, str]) -> Path:
    """Writes files and commits everything."""
    write(root, files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A change")
    return root


def write(root: Path, files: Mapping[str, str]) -> None:
    """Writes files below `root`."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def found(root: Path, figure: str, settings: Settings | None = None) -> list[str]:
    """The culprits of one figure in the working tree."""
    counts = count(Reader().read(working_tree(root)), settings or read_settings())
    return [str(culprit) for culprit in counts[figure]]
