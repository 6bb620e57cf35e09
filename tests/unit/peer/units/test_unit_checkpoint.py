from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from backend.errors import PeerError
from backend.peer.training.training_state import LEAST_SHARE, StateSaver, TrainingState
from backend.peer.units.checkpoint_folder import OLDEST, CheckpointFile, CheckpointFolder
from backend.peer.units.unit_checkpoint import (
    FORMAT,
    UnitOwner,
    checkpoint_name,
    decode_checkpoint,
    encode_checkpoint,
)
from backend.wire.messages import Shard
from backend.wire.unit_messages import Unit

ADDRESS = "ws://192.0.2.1/api/tasks/digits/socket"
OWNER = UnitOwner(ADDRESS, "a" * 16, "b" * 64, "exact", "c" * 64)
UNIT = Unit(
    lease=3,
    unit=7,
    epoch=1,
    shard=Shard(sha256="0" * 64, examples=32),
    first=0,
    examples=32,
    base=5,
    weights="1" * 64,
    epochs=1,
    steps=0,
    batch_size=32,
    learning_rate=0.1,
    past_steps=0,
    seed=1,
    proximal_mu=0.0,
    start="given",
    elasticity=0.0,
    seconds=60.0,
    heartbeat=20.0,
    first_step=2,
)
STATE = TrainingState(
    steps=12,
    weights=np.array([0.1, -0.0, 3e-42, 1e30], np.float32),
    slots=np.arange(6, dtype=np.float32) / 7,
    totals=np.array([384.0, 1 / 3, 5.0, 7.0], np.float64),
    hashes=("d" * 64,),
)

OTHERS = [
    (OWNER, replace(UNIT, unit=8)),
    (OWNER, replace(UNIT, base=6)),
    (OWNER, replace(UNIT, weights="2" * 64)),
    (OWNER, replace(UNIT, seed=2)),
    (OWNER, replace(UNIT, first_step=0)),
    (replace(OWNER, bundle="e" * 64), UNIT),
    (replace(OWNER, client="b" * 16), UNIT),
    (replace(OWNER, backend="tensorflow-cpu", program=None), UNIT),
    (replace(OWNER, program="e" * 64), UNIT),
    (replace(OWNER, address="ws://192.0.2.1/api/tasks/other/socket"), UNIT),
]


def assert_same(state: TrainingState | None, expected: TrainingState = STATE) -> None:
    assert state is not None
    assert (state.steps, state.hashes) == (expected.steps, expected.hashes)
    for name in ("weights", "slots", "totals"):
        assert getattr(state, name).tobytes() == getattr(expected, name).tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointFolder:
    return CheckpointFolder(tmp_path / "units", ADDRESS)


def file_in(folder: CheckpointFolder, unit: Unit = UNIT) -> CheckpointFile:
    file = folder.file(OWNER, unit)
    assert file is not None
    return file


def test_a_checkpoint_has_every_bit_of_the_state() -> None:
    assert_same(decode_checkpoint(encode_checkpoint(OWNER, UNIT, STATE), OWNER, UNIT))


def test_an_optimizer_may_have_no_slots() -> None:
    state = TrainingState(1, STATE.weights, np.zeros(0, np.float32), STATE.totals)
    assert_same(decode_checkpoint(encode_checkpoint(OWNER, UNIT, state), OWNER, UNIT), state)


def test_another_lease_of_the_same_unit_continues_it() -> None:
    again = replace(UNIT, lease=9, seconds=1.0, heartbeat=2.0)
    assert checkpoint_name(OWNER, again) == checkpoint_name(OWNER, UNIT)
    assert_same(decode_checkpoint(encode_checkpoint(OWNER, UNIT, STATE), OWNER, again))


@pytest.mark.parametrize(("owner", "unit"), OTHERS)
def test_a_checkpoint_of_something_else_is_refused(owner: UnitOwner, unit: Unit) -> None:
    assert checkpoint_name(owner, unit) != checkpoint_name(OWNER, UNIT)
    with pytest.raises(PeerError, match="another unit"):
        decode_checkpoint(encode_checkpoint(owner, unit, STATE), OWNER, UNIT)


def test_a_torn_or_changed_file_is_refused() -> None:
    content = encode_checkpoint(OWNER, UNIT, STATE)
    places = range(len(content))
    torn = [content[:place] for place in places]
    changed = [content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :] for place in places]
    for one in [
        *torn,
        *changed,
        content + b"\0",
        FORMAT,
        FORMAT.replace(b"1", b"2") + content[len(FORMAT) :],
    ]:
        with pytest.raises(PeerError):
            decode_checkpoint(one, OWNER, UNIT)


def test_a_file_is_read_by_a_later_process(folder: CheckpointFolder, tmp_path: Path) -> None:
    file_in(folder).write(STATE)
    assert_same(file_in(CheckpointFolder(tmp_path / "units", ADDRESS)).read())
    assert file_in(folder, replace(UNIT, unit=8)).read() is None


@pytest.mark.parametrize("content", [b"", b"torn", encode_checkpoint(*OTHERS[0], STATE)])
def test_a_damaged_or_foreign_file_is_deleted(folder: CheckpointFolder, content: bytes) -> None:
    file = file_in(folder)
    file.write(STATE)
    file.path.write_bytes(content)
    assert file.read() is None
    assert not file.path.exists()


def test_nothing_is_written_after_a_unit_is_over(folder: CheckpointFolder) -> None:
    file = file_in(folder)
    file.write(STATE)
    file.delete()
    file.write(STATE)
    assert list(file.path.parent.iterdir()) == []


def test_units_that_start_from_own_weights_have_no_checkpoint(folder: CheckpointFolder) -> None:
    assert folder.file(OWNER, replace(UNIT, start="own")) is None
    assert folder.file(OWNER, replace(UNIT, start="elastic")) is None


def test_checkpoints_of_units_that_others_have_are_deleted(folder: CheckpointFolder, tmp_path: Path) -> None:
    mine, others = file_in(folder), file_in(folder, replace(UNIT, unit=8))
    elsewhere = CheckpointFolder(tmp_path / "units", ADDRESS + "/other").file(OWNER, UNIT)
    assert elsewhere is not None
    for file in (mine, others, elsewhere):
        file.write(STATE)
    folder.keep_only([mine])
    assert [file.path.exists() for file in (mine, others, elsewhere)] == [True, False, True]


def test_old_files_of_all_tasks_are_deleted(folder: CheckpointFolder, tmp_path: Path) -> None:
    old = CheckpointFolder(tmp_path / "units", ADDRESS + "/other").file(OWNER, UNIT)
    new = file_in(folder)
    assert old is not None
    for file in (old, new):
        file.write(STATE)
    begun = old.path.with_name(".begun")
    begun.touch()
    then = time.time() - OLDEST - 1
    for path in (old.path, begun):
        os.utime(path, (then, then))
    folder.delete_old()
    assert [path.exists() for path in (old.path, begun, new.path)] == [False, False, True]


def test_a_folder_that_cannot_be_written_costs_only_the_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "units").write_bytes(b"")
    folder = CheckpointFolder(tmp_path / "units", ADDRESS)
    file = file_in(folder)
    file.write(STATE)
    assert file.read() is None
    folder.delete_old()
    folder.keep_only([])


def test_a_state_is_due_after_the_interval_and_later_where_saving_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    written: list[int] = []

    def write(state: TrainingState) -> None:
        written.append(state.steps)
        now[0] += 2.0

    saver = StateSaver(30.0, write)
    assert not saver.due()
    now[0] += 30.0
    assert saver.due()
    saver.save(lambda: STATE)
    assert written == [12]
    now[0] += 2.0 * LEAST_SHARE - 1
    assert not saver.due()
    now[0] += 1
    assert saver.due()
