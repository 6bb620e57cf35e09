"""Updates beyond the budget of memory are in a file without a name, and aggregate to the same."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from backend.errors import StoreError
from backend.numerics.aggregators.composition import Aggregator, chain
from backend.numerics.aggregators.coordinate_rules import trimmed_mean
from backend.numerics.aggregators.pre_aggregators import nnm
from backend.numerics.aggregators.robust_mean import RobustMean
from backend.numerics.aggregators.selection_rules import multi_krum
from backend.stores.updates.spool import SpareRows, UpdateSpool

SIZE = 40_000
UPDATES = np.random.default_rng(4).standard_normal((9, SIZE)).astype(np.float32)


def filled(in_memory: int, folder: Path) -> UpdateSpool:
    spool = UpdateSpool(SIZE, in_memory * SIZE * 4, folder)
    for update in UPDATES:
        spool.add(update)
    return spool


@pytest.mark.parametrize("in_memory", [0, 1, 4, 9, 20])
def test_rows_are_the_updates_wherever_they_are(in_memory: int, tmp_path: Path) -> None:
    with filled(in_memory, tmp_path) as spool:
        assert len(spool) == 9
        assert spool.file_bytes == max(0, 9 - in_memory) * SIZE * 4
        assert not list(tmp_path.iterdir())  # The file has no name.
        for row, update in zip(spool.rows(), UPDATES, strict=True):
            assert row.shape == (SIZE,)
            assert row.dtype == np.float32
            np.testing.assert_array_equal(row[17:30_001], update[17:30_001])
            assert row[5:5].shape == (0,)


@pytest.mark.parametrize(
    "rule", [trimmed_mean(2), multi_krum(2), chain(nnm(2), trimmed_mean(2))], ids=lambda rule: rule.name
)
def test_rules_read_them_from_the_file(rule: Aggregator, tmp_path: Path) -> None:
    with filled(3, tmp_path) as spool:
        np.testing.assert_allclose(rule(spool.rows()), rule(UPDATES), atol=1e-7)


def test_a_robust_mean_aggregates_them_with_their_weights(tmp_path: Path) -> None:
    weights = [1, 2, 3, 1, 2, 3, 1, 2, 3]
    mean = RobustMean(multi_krum(2), UpdateSpool(SIZE, 4 * SIZE * 4, tmp_path))
    for update, weight in zip(UPDATES, weights, strict=True):
        mean.add(update, weight)
    assert mean.count == 9
    np.testing.assert_allclose(mean.mean(), multi_krum(2)(UPDATES, weights), atol=1e-7)


def test_a_robust_mean_of_too_few_updates_says_the_numbers(tmp_path: Path) -> None:
    mean = RobustMean(multi_krum(3), UpdateSpool(SIZE, 0, tmp_path))
    with pytest.raises(ValueError, match="weight 0"):
        mean.add(UPDATES[0], 0)
    with pytest.raises(ValueError, match="cannot take"):
        mean.add(UPDATES[0, 1:], 1)
    assert mean.count == 0
    for update in UPDATES[:8]:
        mean.add(update, 1)
    with pytest.raises(ValueError, match=r"f = 3 needs at least 9 updates and got 8"):
        mean.mean()


def test_a_full_disk_is_a_store_error_and_the_update_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(8, tmp_path) as spool:

        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "pwritev", full)
        with pytest.raises(StoreError, match="Free space"):
            spool.add(UPDATES[0])
        assert len(spool) == 9


def test_a_file_that_was_cut_is_a_store_error(tmp_path: Path) -> None:
    with filled(8, tmp_path) as spool:
        row = spool.rows()[8]
        os.ftruncate(spool._file.fileno(), 100)
        with pytest.raises(StoreError, match="ends early"):
            row[:50]


def test_a_spool_takes_the_memory_of_the_one_before_and_holds_its_own_updates(tmp_path: Path) -> None:
    spare, arrays = SpareRows(), []
    for count, first in ((9, 0), (4, 5), (9, 0)):
        with UpdateSpool(SIZE, count * SIZE * 4, tmp_path, spare) as spool:
            for update in UPDATES[first : first + count]:
                spool.add(update)
            assert spool.file_bytes == 0
            rows = spool.rows()
            assert isinstance(rows, np.ndarray)
            np.testing.assert_array_equal(rows, UPDATES[first : first + count])
            arrays.append(rows)
        assert len(spool.rows()) == 0
    assert np.shares_memory(arrays[0], arrays[1])
    assert np.shares_memory(arrays[0], arrays[2])


@pytest.mark.parametrize(("rows", "size"), [(10, SIZE), (9, SIZE + 1)])
def test_memory_that_does_not_fit_is_not_taken(rows: int, size: int) -> None:
    spare = SpareRows()
    with UpdateSpool(SIZE, 9 * SIZE * 4, spare=spare) as spool:
        spool.add(UPDATES[0])
        before = spool.rows()
    assert isinstance(before, np.ndarray)
    assert not np.shares_memory(before, spare.take(rows, size))


def test_a_round_that_ends_after_the_rest_leaves_no_memory_behind() -> None:
    spare = SpareRows()
    with UpdateSpool(SIZE, SIZE * 4, spare=spare) as spool:
        spool.add(UPDATES[0])
        rows = spool.rows()
        spare.rest()
    assert isinstance(rows, np.ndarray)
    assert not np.shares_memory(rows, spare.take(1, SIZE))
    spare.keep(rows)
    assert np.shares_memory(rows, spare.take(1, SIZE))
