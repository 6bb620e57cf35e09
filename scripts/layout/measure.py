"""Reads a tree's files in two processes, and counts the figures."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import PurePosixPath

from scripts.layout.circles import module_name
from scripts.layout.culprit import Culprit
from scripts.layout.facts import Facts
from scripts.layout.figures import FIGURES, Measured
from scripts.layout.python_reader import read_python
from scripts.layout.settings import Settings
from scripts.layout.tree import Tree
from scripts.layout.typescript_reader import read_typescript

Counts = Mapping[str, list[Culprit]]

PROCESSES = min(2, len(os.sched_getaffinity(0)))
# Fewer files are read faster than a process starts.
FEW_FILES = 100
CHUNK = 60


class Reader:
    """Reads trees; a file that several trees share is read once."""

    def __init__(self) -> None:
        self._facts: dict[tuple[str, str], Facts] = {}

    def read(self, tree: Tree) -> Measured:
        """Returns the facts of the tree's files.

        Raises SyntaxError or ValueError that names the unreadable file.
        """
        missing = [one for one in tree.texts.items() if one not in self._facts]
        if len(missing) < FEW_FILES or PROCESSES == 1:
            facts = [_read_file(one) for one in missing]
        else:
            with ProcessPoolExecutor(PROCESSES, get_context("fork"), initializer=gc.disable) as pool:
                facts = list(pool.map(_read_file, missing, chunksize=CHUNK))
        self._facts.update(zip(missing, facts, strict=True))
        files = {path: self._facts[path, text] for path, text in tree.texts.items()}
        return Measured(tree.paths, files, {**tree.texts, **tree.prose}, tree.root)


def count(measured: Measured, settings: Settings) -> Counts:
    """Returns the culprits of each figure."""
    return {figure.name: list(figure.find(measured, settings)) for figure in FIGURES}


def _read_file(file: tuple[str, str]) -> Facts:
    path, text = file
    try:
        if path.endswith(".py"):
            return read_python(text, module_name(path), PurePosixPath(path).name == "__init__.py")
        return read_typescript(text)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error
