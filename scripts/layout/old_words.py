"""Finds names of the old vocabulary: classes, modules (files and folders), functions and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from scripts.layout.culprit import Culprit
from scripts.layout.facts import Facts
from scripts.layout.settings import OldWord

PRODUCT = ("backend/", "converter/", "webapp/static/src/")
# Test files are named after the modules that they test.
TESTED = (*PRODUCT, "tests/")
_PARTS = re.compile(r"[/.]")


def find_old_words(files: Mapping[str, Facts], words: Sequence[OldWord]) -> Iterator[Culprit]:
    """Yields a culprit for each definition, file, or file that uses an identifier."""
    parts_of_path = {path: _parts(path) for path in files}
    by_kind = {
        kind: [word for word in words if word.kind == kind] for kind in ("class", "function", "identifier")
    }
    for path, facts in files.items():
        if not path.startswith(PRODUCT):
            continue
        culprits: list[Culprit] = []
        for kind, find in (("class", _classes), ("function", _functions), ("identifier", _identifiers)):
            for word in by_kind[kind]:
                if _applies_to(word, path, parts_of_path[path]):
                    culprits += find(word, path, facts)
        yield from sorted(culprits, key=lambda culprit: culprit.line)
    yield from _modules(files, [word for word in words if word.kind == "module"])


def _classes(word: OldWord, path: str, facts: Facts) -> Iterator[Culprit]:
    for one in facts.classes:
        if one.name == word.old:
            yield Culprit(f"class {word.old} ({word.new})", path, one.line)


def _functions(word: OldWord, path: str, facts: Facts) -> Iterator[Culprit]:
    for one in facts.functions:
        if one.name == word.old:
            yield Culprit(f"function {word.old} ({word.new})", path, one.line)


def _identifiers(word: OldWord, path: str, facts: Facts) -> Iterator[Culprit]:
    if word.old in facts.identifiers:
        yield Culprit(f"{word.old} ({word.new})", path, 0)


def _modules(files: Mapping[str, Facts], words: Sequence[OldWord]) -> Iterator[Culprit]:
    """Yields culprits for names of files, and of folders that hold files, once each."""
    example_paths: dict[str, str] = {}
    for path in files:
        if path.startswith(TESTED):
            example_paths[path] = path
            folders = path.split("/")[:-1]
            for depth in range(2, len(folders) + 1):
                folder = "/".join(folders[:depth])
                example_paths.setdefault(f"{folder}/", path)
    for module_path, path in sorted(example_paths.items()):
        name, parts = _module_of(module_path), _parts(module_path)
        for word in words:
            is_old = name == word.old or (word.starts and name.startswith(f"{word.old}_"))
            if is_old and _applies_to(word, path, parts):
                yield Culprit(f"module {word.old} ({word.new})", module_path, 0)


def _module_of(place: str) -> str:
    """Returns `a_b` for `x/a-b.ts`, `x/a_b/`, `tests/x/test_a_b.py` and `tests/x/a-b.test.ts`."""
    name = place.rstrip("/").rpartition("/")[2].partition(".")[0].replace("-", "_")
    return name.removeprefix("test_") if place.startswith("tests/") else name


def _parts(place: str) -> set[str]:
    return {part.removeprefix("test_").replace("-", "_") for part in _PARTS.split(place)}


def _applies_to(word: OldWord, path: str, parts: set[str]) -> bool:
    language = "ts" if path.endswith((".ts", ".tsx")) else "py"
    if word.language not in ("", language):
        return False
    return (not word.within or bool(word.within & parts)) and not word.outside & parts
