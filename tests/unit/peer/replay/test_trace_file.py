"""Files of traces: what was saved is read again, and what is damaged is named."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from backend.errors import PeerError
from backend.peer.replay.trace_file import UnitTrace, from_answer, read_trace, write_trace
from backend.peer.replay.unit_facts import Work

WORK = Work(
    bundle="a" * 64,
    weights="b" * 64,
    shard="c" * 64,
    first=0,
    examples=8,
    seed=1,
    steps=2,
    batch_size=4,
    learning_rate=0.1,
    past_steps=0,
    proximal_mu=0.0,
)
HASH = bytes(range(32))
TRACE = UnitTrace(work=WORK, update=HASH, states=[{"trainable": HASH}] * 2, ops=[HASH * 3] * 2)


def test_a_saved_trace_is_read_again(tmp_path: Path) -> None:
    length = write_trace(tmp_path / "trace", TRACE)
    assert (tmp_path / "trace").stat().st_size == length
    found = read_trace(tmp_path / "trace")
    assert found == TRACE
    assert found.state(2) == {"trainable": HASH}
    assert found.step_ops(1) == [HASH] * 3


def test_each_damaged_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    write_trace(path, TRACE)
    content = path.read_bytes()
    for at in range(0, len(content), 7):
        path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
        with pytest.raises(PeerError, match=r"damaged|no trace"):
            read_trace(path)
    path.write_bytes(content[:-1])
    with pytest.raises(PeerError, match="no trace, or it is damaged"):
        read_trace(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ops": [HASH]}, "of 2 steps"),
        ({"states": []}, "0 of 2 steps"),
        ({"update": b""}, "another length"),
        ({"ops": [HASH, HASH[:5]]}, "another length"),
    ],
)
def test_a_trace_that_cannot_answer_all_questions_is_refused(
    changes: dict[str, object], reason: str, tmp_path: Path
) -> None:
    write_trace(tmp_path / "trace", msgspec.structs.replace(TRACE, **changes))
    with pytest.raises(PeerError, match=reason):
        read_trace(tmp_path / "trace")


def test_files_that_are_no_traces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="cannot be read"):
        read_trace(tmp_path / "absent")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(PeerError, match="is no trace"):
        read_trace(tmp_path / "text")
    with pytest.raises(PeerError, match="cannot be written"):
        write_trace(tmp_path / "text" / "trace", TRACE)


def test_a_workers_answer_of_another_form_is_refused() -> None:
    state = {"step": 1, "hashes": {"trainable": HASH.hex()}}
    trace = {"states": [state] * 2, "ops": [{"step": 1, "hashes": HASH.hex()}] * 2}
    assert from_answer(WORK, {"update": b"", "trace": trace}).ops == [HASH] * 2
    for wrong in ({"update": b""}, {"update": b"", "trace": {**trace, "ops": [{"hashes": "zz"}]}}):
        with pytest.raises(PeerError, match="The worker's trace cannot be read"):
            from_answer(WORK, wrong)
