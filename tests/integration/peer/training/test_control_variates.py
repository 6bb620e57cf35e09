"""What a peer remembers of a task between rounds, on a disk that may be damaged or full."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from backend.peer.training.control_variates import Variates

ONES = np.ones(5, np.float32)


@pytest.fixture
def variates(tmp_path: Path) -> Variates:
    return Variates(tmp_path)


def file_in(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_changes_add_up_over_rounds_and_restarts(variates: Variates, tmp_path: Path) -> None:
    assert not variates.read("task", 0, 5).any()
    variates.add("task", 0, ONES)
    variates.add("task", 3, 2 * ONES)
    assert np.array_equal(Variates(tmp_path).read("task", 4, 5), 3 * ONES)


def test_a_change_is_taken_back_once_and_only_if_it_was_the_last(variates: Variates) -> None:
    variates.add("task", 0, ONES)
    variates.add("task", 1, 2 * ONES)
    variates.take_back("task", 0, ONES)
    assert np.array_equal(variates.read("task", 2, 5), 3 * ONES)
    for _ in range(2):
        variates.take_back("task", 1, 2 * ONES)
        assert np.array_equal(variates.read("task", 1, 5), ONES)


def test_tasks_runs_and_models_of_another_size_do_not_see_each_other(variates: Variates) -> None:
    variates.add("one", 4, ONES)
    assert not variates.read("other", 5, 5).any()
    assert not variates.read("one", 5, 6).any()
    # A run that begins again comes to versions that this one has counted in already.
    assert not variates.read("one", 4, 5).any()
    variates.add("one", 0, 7 * ONES)
    assert np.array_equal(variates.read("one", 1, 5), 7 * ONES)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 31, 40, 47, 59])
def test_a_file_that_was_cut_off_counts_for_nothing(variates: Variates, tmp_path: Path, size: int) -> None:
    variates.add("task", 0, ONES)
    path = file_in(tmp_path)
    path.write_bytes(path.read_bytes()[:size])
    assert not variates.read("task", 1, 5).any()
    variates.take_back("task", 0, ONES)
    variates.add("task", 1, ONES)
    assert np.array_equal(variates.read("task", 2, 5), ONES)


@pytest.mark.parametrize("at", range(0, 60, 7))
def test_one_wrong_byte_anywhere_counts_for_nothing(variates: Variates, tmp_path: Path, at: int) -> None:
    variates.add("task", 0, ONES)
    path = file_in(tmp_path)
    content = bytearray(path.read_bytes())
    assert len(content) == 8 + 20 + 32
    content[at] ^= 1
    path.write_bytes(content)
    assert not variates.read("task", 1, 5).any()


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    variates = Variates(tmp_path / "file" / "folder")
    variates.add("task", 0, ONES)
    variates.take_back("task", 0, ONES)
    assert not variates.read("task", 1, 5).any()


WRITER = """
import sys
from pathlib import Path
import numpy as np
from backend.peer.training.control_variates import Variates
variates = Variates(Path(sys.argv[1]))
ones = np.ones(250_000, np.float32)
for version in range(10**6):
    variates.add("task", version, ones)
    print(version, flush=True)
"""


def test_a_peer_that_is_killed_while_it_writes_leaves_a_whole_file(tmp_path: Path) -> None:
    folder = tmp_path / "variates"
    for round_number in range(5):
        command = [sys.executable, "-c", WRITER, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline()
            time.sleep(0.013 * (round_number + 1))
            process.kill()
            written = [0, *(int(line) for line in process.stdout.read().split())][-1]
        own = Variates(folder).read("task", 10**6, 250_000)
        # What was said to be written is; the one under way may be, too.
        assert own[0] in (written + 1, written + 2)
        assert np.ptp(own) == 0
        for path in folder.iterdir():
            path.unlink()
