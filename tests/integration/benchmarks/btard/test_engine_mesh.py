"""Meshes of real members by engine, with and without a liar, on fewer engines than the benchmark has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.btard.processes.engine_mesh import BACKENDS, EXACT, Engines, honest_run, liar_run
from benchmarks.btard.processes.findings import Finding, findings_of, pair_table

NAMES = {"a": "wasm", "b": "node"}
FEW_BACKENDS = replace(BACKENDS, pages=[page for page in BACKENDS.pages if page[0] in ("wasm", "cpu")])
FEW_EXACT = replace(EXACT, pages=[EXACT.pages[0]] * 2)


def test_findings_are_counted_by_the_engines_of_validator_and_target() -> None:
    found = [
        ("node", Finding("a", 3, "same", 0.001)),
        ("node", Finding("a", 4, "doubtful", 0.02)),
        ("wasm", Finding("b", 5, "other", 0.5)),
        ("wasm", Finding("b", 6, "missing", None)),
    ]
    figures = findings_of(found, NAMES)
    assert figures.pop("rows") == [
        {"validator": "node", "target": "wasm", "validations": 2, "farthest": 0.02},
        {"validator": "wasm", "target": "node", "validations": 1, "farthest": 0.5},
    ]
    assert figures == {
        "validations": 3,
        "accusations": 1,
        "doubtful": 1,
        "missing": 1,
        "by_hash": 0,
        "farthest": 0.5,
    }


def test_validations_by_bytes_have_no_distance() -> None:
    figures = findings_of([("node", Finding("a", 3, "same", None))], NAMES)
    assert (figures["by_hash"], figures["validations"], figures["farthest"]) == (1, 1, None)
    assert pair_table(figures["rows"]) == "validator  wasm\nnode       1"


@pytest.mark.browser
@pytest.mark.tensorflow
@pytest.mark.long
def test_engines_find_each_others_work_the_same() -> None:
    figures = honest_run(FEW_BACKENDS, 6)
    assert figures["validations"] == 5
    assert figures["accusations"] == figures["doubtful"] == figures["different_bits"] == 0
    assert figures["by_hash"] == figures["banned_honest"] == 0


@pytest.mark.browser
@pytest.mark.tensorflow
@pytest.mark.long
@pytest.mark.parametrize("engines", [FEW_BACKENDS, FEW_EXACT], ids=["half", "bit"])
def test_a_liar_is_banned_by_engines_that_do_its_work_again(engines: Engines) -> None:
    figures = liar_run(engines)
    assert (figures[engines.ban], figures["banned_honest"]) == (1, 0)
