"""Defines each lane's steps: their commands, cores and order."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.keras import reference_cache
from tests.support.programs import fork_server_pool

ROOT = Path(__file__).parents[3]
# The lanes use at most two cores of the machine.
CORES = min(2, len(os.sched_getaffinity(0)))
# The records of the last run of a lane, relative to the repository.
RUN = Path(".make") / "lane"
PURE = ("tests/unit", "tests/contract")
# Tests that mostly wait come first, so that tests that compute fill the end.
DRIVEN = ("tests/e2e", "tests/attacks", "tests/integration", "tests/conformance", "tests/property")
# The tests of PURE without a coverage goal, which start processes.
SERVICES = (
    "tests/unit/scripts",
    "tests/unit/server",
    "tests/unit/datasets",
    "tests/unit/simulation",
    "tests/unit/support",
)
# The tests of DRIVEN that import TensorFlow into their own process.
KERAS = (
    "tests/integration/converter",
    "tests/conformance/native_graphs",
    "tests/conformance/official_converter",
    "tests/integration/peer/training/test_evaluator.py",
    "tests/integration/peer/training/test_read_tables.py",
    "tests/integration/peer/training/test_trainer.py",
)


@dataclass(frozen=True)
class Step:
    """Commands that run in sequence; the step fails with the first failed command."""

    name: str
    commands: tuple[tuple[str, ...], ...]
    cores: int = 1
    after: tuple[str, ...] = ()
    is_python_test: bool = False


def python(*words: str) -> tuple[str, ...]:
    """Returns `python -m words` with the interpreter of this environment."""
    return (sys.executable, "-m", *words)


def program(name: str, *words: str) -> tuple[str, ...]:
    """Returns the command of a program that is installed beside this interpreter."""
    return (str(Path(sys.executable).with_name(name)), *words)


def pytest(step: str, *words: str, workers: int) -> tuple[str, ...]:
    """Returns the command of one run of pytest that records each test's outcome."""
    record = ("-p", "tests.support.ci.outcome_records", "--record", str(RUN / f"{step}.jsonl"))
    cache = ("-o", f"cache_dir=.make/pytest-{step}", "--last-failed-no-failures", "none")
    spread = ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder")
    return ("pytest", "-q", "--no-header", "--tb=short", *record, *cache, *spread, *words)


STYLE = Step(
    "style",
    (
        program("ruff", "check", "."),
        program("ruff", "format", "--check", "."),
        ("npm", "run", "--silent", "lint"),
        program("lint-imports", "--no-logo"),
        (sys.executable, "scripts/house.py", "--check"),
        python("scripts.translations.command"),
    ),
)
TYPES = Step("types", (program("mypy"), ("npm", "run", "--silent", "types")))
VITEST = ("npm", "run", "--silent", "test", "--", "--reporter=dot")
TYPESCRIPT = Step("typescript", (VITEST,))
# In the lane for every save: by itself vitest leaves one of two cores to others.
QUICK_TYPESCRIPT = Step("typescript", ((*VITEST, f"--maxWorkers={CORES}"),))
# More inputs for the browser's readers than TYPESCRIPT uses.
INPUTS = ("env", "FUZZ_INPUTS=40000", "FUZZ_SEED=100000")
FUZZ = Step("fuzz", ((*INPUTS, "npx", "vitest", "run", "--reporter=dot", "tests/property/webapp"),))
OPS = python("tests.conformance.ops.expected")
ZOO = Step("zoo", (python("tests.support.keras.reference_cache", *reference_cache.SHORT), OPS))
WHOLE_ZOO = Step("zoo", (python("tests.support.keras.reference_cache"), OPS))


def gallery() -> Step:
    """Returns the step that builds the gallery's tasks and the shapes task."""
    build = (fork_server_pool.executable(), "-m", "backend", "build")
    return Step("gallery", (build, python("tests.support.tasks.shapes_task")))


def without(folders: Iterable[str]) -> Iterator[str]:
    """Yields arguments that exclude the folders from pytest."""
    return (f"--ignore={folder}" for folder in folders)


def pure(words: tuple[str, ...]) -> Step:
    """Returns the tests without servers, with the joint coverage goal of the pure floors."""
    tests = pytest("pure", *PURE, *without(SERVICES), "-m", "not long", *words, workers=CORES)
    if words:
        return Step("pure", (python(*tests),), is_python_test=True)
    measured = (
        program("coverage", "erase"),
        program("coverage", "run", "-m", *tests),
        program("coverage", "combine", "--quiet"),
        program("coverage", "report", "--skip-covered"),
    )
    return Step("pure", measured, is_python_test=True)


def keras(words: tuple[str, ...]) -> Step:
    """Returns the tests that convert in their own process."""
    tests = pytest("keras", *KERAS, "-m", "not long", *words, workers=CORES)
    return Step("keras", (python(*tests),), after=("zoo",), is_python_test=True)


def driven(words: tuple[str, ...]) -> Step:
    """Returns the tests of servers, peers and browsers.

    They also wait, so two run at a time on each core, and steps that compute fill the pauses.
    """
    tests = pytest("driven", *DRIVEN, *without(KERAS), *SERVICES, "-m", "not long", *words, workers=2 * CORES)
    return Step("driven", (python(*tests),), after=("gallery", "zoo"), is_python_test=True)


def fast(words: tuple[str, ...]) -> list[Step]:
    """Returns the lane for every save: pure floors, contracts and TypeScript."""
    kept = (*PURE, *without(SERVICES), "-m", "not long and not tensorflow")
    tests = pytest("fast", *kept, *words, workers=CORES)
    return [Step("fast", (python(*tests),), is_python_test=True), QUICK_TYPESCRIPT]


def short(words: tuple[str, ...]) -> list[Step]:
    """Returns the lane required for landing; with `words` for pytest, only Python's tests."""
    # The driven tests take longest and wait: they run beside all others, which follow each other. The last of
    # these have a process for each core, and use both where the driven tests end before them.
    made = [ZOO, gallery(), driven(words)]
    tests = [pure(words), keras(words)]
    return [*made, *tests] if words else [*made, TYPESCRIPT, TYPES, STYLE, *tests]


def long(words: tuple[str, ...]) -> list[Step]:
    """Returns the lane of long tests: trainings, full conformance, schedules, fuzzing, benchmarks."""
    tests = pytest("long", *DRIVEN, *PURE, "-m", "long", *words, workers=2 * CORES)
    step = Step("long", (python(*tests),), cores=2, after=("gallery", "zoo"), is_python_test=True)
    return [gallery(), FUZZ, WHOLE_ZOO, step]


def style(words: tuple[str, ...]) -> list[Step]:
    """Returns the lane of both languages' style, and of the architecture's floors."""
    return [STYLE]


def types(words: tuple[str, ...]) -> list[Step]:
    """Returns the lane of strict types of both languages."""
    return [TYPES]


LANES: dict[str, Callable[[tuple[str, ...]], list[Step]]] = {
    "fast": fast,
    "short": short,
    "long": long,
    "style": style,
    "types": types,
}
