"""Measures a tree: finds the culprits of each figure."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.layout.aliases import find_aliases
from scripts.layout.circles import circles, python_graph, typescript_graph
from scripts.layout.culprit import Culprit
from scripts.layout.facts import Facts
from scripts.layout.old_phrases import find_old_phrases
from scripts.layout.old_words import find_old_words
from scripts.layout.settings import Settings
from scripts.layout.tree import CODE

MAX_FILES = 20
FEW_LINES, MANY_LINES = 40, 400
LONG_FUNCTION = 60
# Golden vectors are data, so their number doesn't matter.
DATA = ("tests/contract/vectors/",)
PYTHON_PRODUCT = ("backend/", "converter/")
TYPESCRIPT_PRODUCT = ("webapp/static/src/",)
PYTHON_MODULES = (*PYTHON_PRODUCT, "tests/", "benchmarks/", "scripts/")


@dataclass(frozen=True)
class Measured:
    """A tree after reading: all paths, the facts of its files in Python and TypeScript, and all texts.

    `root` is the folder of a working tree, None for a revision.
    """

    paths: Sequence[str]
    files: Mapping[str, Facts]
    texts: Mapping[str, str]
    root: Path | None

    def below(self, folders: tuple[str, ...], suffix: str) -> dict[str, Facts]:
        """Returns the files of one language in some folders."""
        return {
            path: facts
            for path, facts in self.files.items()
            if path.startswith(folders) and path.endswith(suffix)
        }


@dataclass(frozen=True)
class Figure:
    """A figure; one without a goal is only printed. `advice` says how to resolve a culprit."""

    name: str
    goal: int | None
    find: Callable[[Measured, Settings], Iterable[Culprit]]
    advice: str = ""


def folders_over_20(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds folders with more than 20 files of code beside their subfolders."""
    counts: dict[str, int] = defaultdict(int)
    for path in measured.paths:
        if path.endswith(CODE) and not path.startswith("docs/"):
            counts[posixpath.dirname(path)] += not (path.startswith(DATA) and path.endswith(".json"))
    for folder, count in sorted(counts.items(), key=lambda item: -item[1]):
        if count > MAX_FILES:
            yield Culprit(f"{count} files", f"{folder or '.'}/")


def import_circles(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds modules of one language that import each other."""
    python = python_graph(measured.below(PYTHON_MODULES, ".py"))
    typescript = typescript_graph(measured.below(TYPESCRIPT_PRODUCT, (".ts")))
    for circle in (*circles(python), *circles(typescript)):
        yield Culprit("with " + ", ".join(circle[1:]), circle[0])


def shared_class_names(measured: Measured, settings: Settings) -> Iterator[Culprit]:
    """Finds names that several classes of one language have, in product code."""
    for folders, suffix in ((PYTHON_PRODUCT, ".py"), (TYPESCRIPT_PRODUCT, ".ts")):
        paths_of_name: dict[str, list[str]] = defaultdict(list)
        for path, facts in measured.below(folders, suffix).items():
            for name in {one.name for one in facts.classes}:
                paths_of_name[name].append(path)
        for name, paths in sorted(paths_of_name.items()):
            if len(paths) > 1 and name not in settings.shared_names:
                yield Culprit(f"{suffix[1:]} {name}", ", ".join(sorted(paths)))


def sentence_aliases(measured: Measured, settings: Settings) -> Iterator[Culprit]:
    """Finds imports under a name that isn't their own."""
    return find_aliases(measured.files, settings.aliases)


def host_isinstance(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds type checks of a host outside the folder that defines its class."""
    files = measured.below(("backend/",), ".py")
    folders_of_class: dict[str, set[str]] = defaultdict(set)
    for path, facts in files.items():
        for one in facts.classes:
            folders_of_class[one.name].add(posixpath.dirname(path))
    for path, facts in files.items():
        folder = posixpath.dirname(path)
        for check in facts.checks:
            hosts = [name for name in check.classes if name.endswith("Host")]
            is_host_value = check.value == "host" or check.value.endswith("_host")
            is_own_folder = bool(hosts) and all(folder in folders_of_class[name] for name in hosts)
            if (hosts or is_host_value) and not is_own_folder:
                yield Culprit(f"is it a {' or '.join(check.classes)}?", path, check.line)


def files_under_40(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds short files; `__init__` and `index` files don't count."""
    for path, facts in measured.files.items():
        stem = posixpath.basename(path).partition(".")[0]
        if facts.lines < FEW_LINES and stem not in ("__init__", "index"):
            yield Culprit(f"{facts.lines} lines", path)


def files_over_400(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds long files."""
    for path, facts in measured.files.items():
        if facts.lines > MANY_LINES:
            yield Culprit(f"{facts.lines} lines", path)


def functions_over_60(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds long functions; a test suite (`describe`) doesn't count."""
    for path, facts in measured.files.items():
        for one in facts.functions:
            if one.lines > LONG_FUNCTION and one.name != "describe()":
                yield Culprit(f"{one.name or 'function'}, {one.lines} lines", path, one.line)


def old_words(measured: Measured, settings: Settings) -> Iterator[Culprit]:
    """Finds names of the old vocabulary."""
    return find_old_words(measured.files, settings.old_words)


def old_phrases(measured: Measured, settings: Settings) -> Iterator[Culprit]:
    """Finds phrases of the old vocabulary where people read."""
    return find_old_phrases(measured.texts, settings.old_phrases)


def missing_texts(measured: Measured, _settings: Settings) -> Iterator[Culprit]:
    """Finds sentences without a fitting translation, in the working tree of this repository."""
    # Imported here because it reads the project's sentences; the other figures work without.
    from scripts.translations.command import all_problems
    from scripts.translations.sentences import ROOT

    for problem in all_problems() if measured.root == ROOT else ():
        yield Culprit(problem.text, str(problem.path.relative_to(ROOT)), problem.line)


FIGURES = (
    Figure("folders_over_20", 0, folders_over_20, "Put files that belong together into a subfolder."),
    Figure("circles", 0, import_circles, "Move what both need into a module that imports neither."),
    Figure(
        "shared_class_names",
        0,
        shared_class_names,
        "Give the class a name of its own, or add it with a reason to [shared_class_names] in house.toml.",
    ),
    Figure("sentence_aliases", 0, sentence_aliases, "Import the module by its own name."),
    Figure("host_isinstance", 0, host_isinstance, "Add a method to the host's protocol and call it."),
    Figure("old_words", 0, old_words, "Use the new word, which stands in parentheses."),
    Figure("old_phrases", 0, old_phrases, "Write the sentence as the words in parentheses say."),
    Figure("missing_texts", 0, missing_texts, "Add it to the catalogue, or remove what nothing uses."),
    Figure("files_under_40", None, files_under_40),
    Figure("files_over_400", None, files_over_400),
    Figure("functions_over_60", None, functions_over_60),
)
