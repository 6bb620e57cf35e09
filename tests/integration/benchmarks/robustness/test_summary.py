"""The benchmark of robustness: its figures from known curves, and how it resumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.robustness import cells
from benchmarks.robustness.cells import Cell, CellResult, Grid, run_cells, write_result
from benchmarks.robustness.summary import rows, summary, text_table


def cell(rule: str, attack: str, alpha: float | None = None, seed: int = 0) -> Cell:
    return Cell("digits", 10, 3, 20, alpha, rule, attack, seed)


def result(accuracy: float, backdoor: float | None = None) -> CellResult:
    # Before the last two of 20 rounds everything was different.
    curve = [0.1] * 18 + [accuracy - 0.01, accuracy + 0.01]
    return CellResult(curve, [] if backdoor is None else [0.0] * 18 + [backdoor] * 2, 1, 3, 0, None, 0.5)


RESULTS = {
    cell("mean", "none"): result(0.95),
    cell("mean", "sign-flip"): result(0.40),
    cell("mean", "trigger-backdoor"): result(0.95, 0.9),
    cell("median", "sign-flip"): result(0.94),
    cell("median", "trigger-backdoor"): result(0.90, 0.02),
    cell("krum", "sign-flip"): result(0.92),
    cell("krum", "trigger-backdoor"): result(0.93, 0.3),
    cell("mean", "none", 0.3): result(0.90),
    cell("median", "sign-flip", 0.3): result(0.80),
    cell("median", "sign-flip", 0.3, seed=1): result(0.70),
}


def test_the_best_rule_is_the_one_with_the_least_worst_gap_of_each_split() -> None:
    assert summary(RESULTS) == {
        "clean_iid": 0.95,
        "best_iid": "krum",
        "worst_gap_iid": 0.03,
        "clean_skewed": 0.9,
        "best_skewed": "median",
        "worst_gap_skewed": 0.15,
        "backdoor_undefended": 0.9,
        "backdoor_defended": 0.02,
        "backdoor_rule": "median",
        # Krum's two trainings on the even split, the median's two on the skewed one.
        "honest_ejections": 12,
    }


def test_what_was_not_run_has_no_figure() -> None:
    figures = summary({cell("mean", "none"): result(0.95)})
    assert figures["clean_iid"] == 0.95
    assert {value for name, value in figures.items() if name != "clean_iid"} == {None}


def test_a_row_is_the_mean_over_seeds() -> None:
    [row] = [one for one in rows(RESULTS) if one["seeds"] == 2]
    assert (row["accuracy"], row["backdoor"], row["refused"]) == (0.75, None, 2)
    assert row["honest_ejections"] == 6


def test_the_table_has_rules_by_attacks() -> None:
    lines = text_table(rows(RESULTS)).splitlines()
    assert lines[:4] == [
        "even split",
        "rule\tnone\tsign-flip\ttrigger-backdoor",
        "mean\t95.0\t40.0\t95.0/90",
        "median\t-\t94.0\t90.0/2",
    ]


def test_each_training_has_a_file_and_the_plain_mean_without_attack_comes_first() -> None:
    grid = Grid("digits", 10, 3, 5, (None, 0.3), ("median",), ("alie", "mimic"), 2)
    planned = list(grid.cells())
    assert len(planned) == len({one.file_name for one in planned}) == 2 * 2 * 2 * 3
    assert (planned[0].rule, planned[0].attack) == ("mean", "none")


def test_finished_trainings_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, missing = cell("mean", "none"), cell("mean", "alie")
    write_result(tmp_path / done.file_name, result(0.9))
    # Written by a version that counted other things.
    (tmp_path / missing.file_name).write_text('{"accuracy": [0.1]}', "utf-8")
    trained: list[Cell] = []

    def train(lab: Any, one: Cell) -> CellResult:
        trained.append(one)
        return result(0.5)

    monkeypatch.setattr(cells, "run_cell", train)
    lab: Any = None
    for _ in range(2):
        assert run_cells(lab, [done, missing], tmp_path) == {done: result(0.9), missing: result(0.5)}
    assert trained == [missing]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([done.file_name, missing.file_name])
