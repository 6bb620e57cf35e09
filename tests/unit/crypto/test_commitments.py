import hashlib

from backend.crypto.commitments import DIGEST_BYTES, mean_digest, piece_digest


def test_a_mean_is_named_by_its_contributors_and_its_bytes() -> None:
    assert mean_digest([0, 2, 7], b"mean") == hashlib.sha256(b"\x03\x00\x02\x07mean").digest()
    named = {mean_digest(places, data) for places in ([], [0], [0, 1]) for data in (b"", b"\x00", b"\x01")}
    assert len(named) == 9
    assert {len(name) for name in named} == {DIGEST_BYTES}


def test_a_piece_is_named_by_its_bytes() -> None:
    assert piece_digest(memoryview(b"piece")) == hashlib.sha256(b"piece").digest()
