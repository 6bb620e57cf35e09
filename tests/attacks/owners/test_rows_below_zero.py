"""An .npz says that it has fewer than no rows, or more than there are numbers, and is counted as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.datasets.inspection.model_input import ModelInput
from backend.errors import DataError
from backend.server.sandbox.data_inspection import inspect_data
from tests.support.tasks.owner_files import npz_of_shape


@pytest.mark.parametrize("shape", [(-1, 4), (4, -1), (2**70, 0), (0, 2**70), (1,) * 40])
def test_an_array_of_an_impossible_shape_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    (tmp_path / "d.npz").write_bytes(npz_of_shape(shape))
    with pytest.raises(DataError, match="shape"):
        inspect_data(tmp_path / "d.npz", "d.npz", ModelInput(), tmp_path / "out")
