"""Suites of tests do not import each other: what several of them need lives in tests/support/."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SUITES = ("unit", "property", "contract", "integration", "attacks", "e2e", "conformance", "support")
# Golden vectors and the scripts that make them are data for every suite.
SHARED = ("tests.support", "tests.contract.vectors")


def imported_modules(source: str) -> Iterator[str]:
    """Full names of what a module imports; for `from a import b` that is `a.b`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def foreign_imports(source: str, suite: str) -> list[str]:
    """What a module of `suite` imports from other suites and may not."""
    allowed = (f"tests.{suite}", *SHARED)
    return [
        name
        for name in imported_modules(source)
        if name.startswith("tests.") and not name.startswith(tuple(f"{prefix}." for prefix in allowed))
    ]


@pytest.mark.parametrize("suite", SUITES)
def test_no_suite_imports_another_one(suite: str) -> None:
    found = {
        str(path.relative_to(TESTS)): names
        for path in sorted((TESTS / suite).rglob("*.py"))
        if (names := foreign_imports(path.read_text("utf-8"), suite))
    }
    assert found == {}


def test_every_test_belongs_to_a_suite() -> None:
    assert {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")} <= set(SUITES)


def test_an_import_of_another_suite_is_found() -> None:
    source = "import tests.unit.a\nfrom tests.e2e import b\nfrom tests.contract.vectors import c\n"
    assert foreign_imports(source, "integration") == ["tests.unit.a", "tests.e2e.b"]
    assert foreign_imports(source, "e2e") == ["tests.unit.a"]
