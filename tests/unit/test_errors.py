"""Each error that Minga raises on purpose tells its cause and a remedy, to programs and to people."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from http import HTTPStatus
from itertools import combinations
from pathlib import Path

import pytest

from backend import errors
from backend.errors import FinalStoreError, MingaError, StoreError, UpdateRefusedError

ROOT = Path(__file__).parents[2]
CODE = re.compile("[a-z]+(-[a-z]+)*")
ROW = re.compile(r"^\| `([\w-]+)` \| (\d+) \|(.*)\|$", re.MULTILINE)


def descendants(error: type[MingaError]) -> Iterator[type[MingaError]]:
    for kind in error.__subclasses__():
        if kind.__module__.startswith(f"{errors.__name__}."):
            yield kind
        yield from descendants(kind)


ERRORS = sorted(set(descendants(MingaError)), key=lambda error: error.__name__)
NAMES = {error.__name__ for error in ERRORS}
LEAVES = [error for error in ERRORS if not set(error.__subclasses__()) & set(ERRORS)]


def share_a_code(one: type[MingaError], other: type[MingaError]) -> bool:
    """Whether programs cannot tell the two apart, but must.

    `rejected` frames and the ends of connections have codes of their own: `too-slow` is in both. That a
    retry is of no use concerns the server alone; for others its store failed.
    """
    are_one = all(issubclass(error, FinalStoreError) or error is StoreError for error in (one, other))
    in_one_frame = issubclass(one, UpdateRefusedError) == issubclass(other, UpdateRefusedError)
    return one.code == other.code and in_one_frame and not are_one


def raised_without_text(source: str) -> list[int]:
    """Lines that make one of Minga's errors and give it nothing to say."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Raise(exc=ast.Name() | ast.Attribute() as bare):
                made: ast.expr = bare
            case ast.Call(func=called, args=[], keywords=[]):
                made = called
            case _:
                continue
        name = ast.unparse(made).removeprefix("errors.")
        if name in NAMES:
            lines.append(node.lineno)
    return lines


def test_there_is_an_error_for_every_class_of_the_module() -> None:
    classes = {name for name, value in vars(errors).items() if isinstance(value, type)}
    assert {name for name in classes if name.endswith("Error")} == NAMES | {MingaError.__name__}
    assert len(LEAVES) > 30


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_an_error_has_a_code_a_status_and_a_sentence_about_its_cause(error: type[MingaError]) -> None:
    assert CODE.fullmatch(error.code)
    assert error.code != MingaError.code
    assert 400 <= HTTPStatus(error.http_status) < 600
    assert error.close_code == 1009 or 4000 <= error.close_code < 5000
    cause = error.__doc__ or ""
    assert cause != MingaError.__doc__
    assert cause.rstrip().endswith(".")
    assert len(cause.split()) >= 5


def test_programs_can_tell_errors_apart_by_their_codes() -> None:
    assert [pair for pair in combinations(ERRORS, 2) if share_a_code(*pair)] == []


def test_the_reference_names_a_cause_and_a_remedy_for_every_code() -> None:
    text = (ROOT / "docs/reference/errors.md").read_text("utf-8")
    rows = ROW.findall(text)
    assert rows
    for code, _, cells in rows:
        cause, *remedy = (cell.strip() for cell in cells.split(" | "))
        assert len(cause.split()) >= 3, code
        assert len(remedy) == 1, code
        assert remedy[0], code


def test_no_error_is_raised_without_a_text() -> None:
    modules = sorted((ROOT / "backend").rglob("*.py"))
    silent = {path: raised_without_text(path.read_text("utf-8")) for path in modules}
    assert {path: lines for path, lines in silent.items() if lines} == {}


def test_an_error_without_a_text_is_found() -> None:
    source = (
        "raise PeerError\nraise PeerError()\nraise errors.PeerError()\nraise PeerError('Why.')\nraise error"
    )
    assert raised_without_text(source) == [1, 2, 3]
