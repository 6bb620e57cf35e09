"""Commitments to results of work units."""

from __future__ import annotations

import pytest

from backend.crypto.result_commitments import result_commitment

SALT, CLIENT, UPDATE = b"s" * 32, "0123456789abcdef", b"\0\0\x80\x3f"


def test_every_part_changes_it() -> None:
    made = {
        result_commitment(SALT, CLIENT, 1, UPDATE),
        result_commitment(b"t" * 32, CLIENT, 1, UPDATE),
        result_commitment(SALT, "f" * 16, 1, UPDATE),
        result_commitment(SALT, CLIENT, 2, UPDATE),
        result_commitment(SALT, CLIENT, 1, b"\1\0\x80\x3f"),
    }
    assert len(made) == 5


def test_a_short_salt_is_an_error() -> None:
    with pytest.raises(ValueError, match="A salt has 32 bytes, not 31"):
        result_commitment(b"s" * 31, CLIENT, 1, UPDATE)
