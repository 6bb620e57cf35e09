"""Whom a peer trusts in masked rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import PeerError
from backend.peer.session.trust_store import TrustStore, read_roster

ANA, BRUNO, EVE = "a" * 64, "b" * 64, "e" * 64
TASK = "wss://example.org/api/tasks/digits/socket"


def known(folder: Path, task: str = TASK, listed: frozenset[str] | None = None) -> TrustStore:
    made = TrustStore(folder, listed)
    made.enter(task)
    return made


def test_who_was_met_once_is_known_by_the_same_identity_after_a_restart(tmp_path: Path) -> None:
    known(tmp_path).remember({"client-a": ANA})
    later = known(tmp_path)
    assert not later.is_untrusted("client-a", ANA)
    assert later.is_untrusted("client-a", EVE)
    assert not later.is_untrusted("client-b", BRUNO)


def test_each_task_has_its_own_acquaintances(tmp_path: Path) -> None:
    known(tmp_path).remember({"client-a": ANA})
    assert not known(tmp_path, task=TASK.replace("digits", "letters")).is_untrusted("client-a", EVE)


def test_with_a_list_nobody_else_is_trusted(tmp_path: Path) -> None:
    made = known(tmp_path, listed=frozenset({ANA}))
    assert not made.is_untrusted("client-a", ANA)
    assert made.is_untrusted("client-b", BRUNO)


@pytest.mark.parametrize("content", [b"", b"[]", b"{broken", b'{"client-a": 7}', b"\xff\xff"])
def test_a_damaged_file_is_learnt_anew(tmp_path: Path, content: bytes) -> None:
    known(tmp_path).remember({"client-a": ANA})
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    made = known(tmp_path)
    assert not made.is_untrusted("client-a", EVE)
    made.remember({"client-a": EVE})
    assert known(tmp_path).is_untrusted("client-a", ANA)


def test_a_folder_that_cannot_be_written_costs_only_the_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    made = known(tmp_path / "file")
    made.remember({"client-a": ANA})
    assert made.is_untrusted("client-a", EVE)


def test_a_list_has_an_identity_a_line_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "friends.txt"
    path.write_text(f"# friends\n\n{ANA}  Ana, from Quito\n  {BRUNO} # met in person\n")
    assert read_roster(path) == {ANA, BRUNO}


@pytest.mark.parametrize("line", ["Ana", ANA[:-1], ANA + "0", ANA.upper()])
def test_a_line_that_is_no_identity_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "friends.txt"
    path.write_text(f"{BRUNO}\n{line}\n")
    with pytest.raises(PeerError, match=r"Line 2 of .*minga peer identity"):
        read_roster(path)


def test_a_list_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match="cannot be read"):
        read_roster(tmp_path / "nothing")
