from __future__ import annotations

from pathlib import Path

from backend.peer.session.identity import machine_identity


def test_a_machine_keeps_its_token(tmp_path: Path) -> None:
    with machine_identity(tmp_path / "minga") as first:
        pass
    with machine_identity(tmp_path / "minga") as second:
        pass
    assert first == second
    for name in ("token", "identity"):
        assert (tmp_path / "minga" / name).stat().st_mode & 0o077 == 0


def test_a_second_peer_gets_a_token_of_its_own(tmp_path: Path) -> None:
    with (
        machine_identity(tmp_path) as first,
        machine_identity(tmp_path) as second,
        machine_identity(tmp_path) as third,
    ):
        assert len({first.token, second.token, third.token}) == 3
        assert len({first.public, second.public, third.public}) == 3


def test_a_damaged_token_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("no token at all")
    with machine_identity(tmp_path) as identity:
        assert (tmp_path / "token").read_text().strip() == identity.token


def test_without_a_place_to_keep_it_the_token_is_temporary(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with machine_identity(tmp_path / "file") as first, machine_identity(tmp_path / "file") as second:
        assert first != second
