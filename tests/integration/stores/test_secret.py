"""A data folder has a secret of its own, which only the server's user may read."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from backend.errors import StoreError
from backend.stores.secret import read_secret


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    secret = read_secret(tmp_path)
    assert len(secret) == 32
    assert read_secret(tmp_path) == secret
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (tmp_path / "other").mkdir()
    assert read_secret(tmp_path / "other") != secret


def test_what_a_killed_server_left_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "secret.part").write_bytes(b"half")
    assert len(read_secret(tmp_path)) == 32
    assert [file.name for file in tmp_path.iterdir()] == ["secret.key"]


def test_a_file_that_is_no_secret_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_bytes(b"")
    with pytest.raises(
        StoreError, match=r"secret\.key has 0 bytes .* Restore it from a backup, or delete it"
    ):
        read_secret(tmp_path)
