from __future__ import annotations

from dataclasses import replace

import pytest

from backend.formats.task_file import Checkpoints
from backend.server.versions.retention import best_version, removal, to_let_go
from backend.stores.contracts import EvaluationRecord, VersionRecord

ONE = VersionRecord(0, 0, "0" * 64, None, 0, 0, None, {}, 0.0, 100.0)


def let_go(count: int, *best: float, busy: tuple[int, ...] = (), **plan: int) -> list[int]:
    versions = [replace(ONE, version=number) for number in range(count)]
    measured = {n: EvaluationRecord(n, 1.0, {"accuracy": value}) for n, value in enumerate(best)}
    return to_let_go(versions, measured, Checkpoints(**plan), busy)


def test_the_newest_versions_and_the_bundles_own_are_kept() -> None:
    assert let_go(6, keep_last=2) == [1, 2, 3]
    assert let_go(3, keep_last=2) == []
    assert let_go(11) == []


def test_the_best_are_kept() -> None:
    assert let_go(6, 0.1, 0.5, 0.9, 0.7, keep_last=2, keep_best=1) == [1, 3]
    assert let_go(6, 0.1, 0.5, 0.9, 0.7, keep_last=2, keep_best=2) == [1]
    assert let_go(6, 0.1, 0.5, 0.9, 0.7, keep_last=2, keep_best=0) == [1, 2, 3]


def test_of_equals_the_newer_is_kept() -> None:
    assert let_go(6, 0.1, 0.5, 0.5, keep_last=2) == [1, 3]


def test_models_without_accuracy_are_judged_by_their_loss() -> None:
    versions = [replace(ONE, version=number) for number in range(5)]
    losses = {n: EvaluationRecord(n, loss, {}) for n, loss in enumerate([3.0, 1.0, 2.0])}
    assert to_let_go(versions, losses, Checkpoints(keep_last=2), ()) == [2]


def test_every_so_many_versions_one_is_kept() -> None:
    assert let_go(12, keep_last=2, keep_every=4) == [1, 2, 3, 5, 6, 7, 9]


def test_a_version_in_use_is_kept() -> None:
    assert let_go(6, keep_last=2, busy=(2,)) == [1, 3]


def test_the_best_is_one_whose_files_are_kept() -> None:
    versions = [replace(ONE, version=number) for number in range(4)]
    measured = {n: EvaluationRecord(n, 1.0, {"accuracy": value}) for n, value in enumerate([0.1, 0.9, 0.5])}
    assert best_version(versions, measured) == 1
    versions[1] = replace(versions[1], let_go=86400.0 * 365)
    assert best_version(versions, measured) == 2
    assert best_version(versions, {}) is None
    assert removal(versions[1], Checkpoints()) == (
        "The files of version 1 were removed on 1971-01-01 to save space: the best 1 and the last 10 "
        "versions are kept."
    )


@pytest.mark.parametrize("kept", [2, 3])
def test_what_was_let_go_is_not_let_go_again(kept: int) -> None:
    versions = [replace(ONE, version=number, let_go=1.0 if number < 3 else None) for number in range(6)]
    assert to_let_go(versions, {}, Checkpoints(keep_last=kept), ()) == ([3] if kept == 2 else [])
