"""Bodies of statements have one encoding, and all other bytes are no body."""

from __future__ import annotations

import pytest

from backend.wire.byzantine_bodies import Body, decode_body, encode_body
from tests.contract.vectors.mesh.make_byzantine_bodies import BAD, GOOD


@pytest.mark.parametrize("body", GOOD, ids=lambda body: type(body).__name__)
def test_every_body_comes_back(body: Body) -> None:
    assert decode_body(encode_body(body)) == body


@pytest.mark.parametrize("data", BAD.values(), ids=BAD)
def test_anything_else_is_none(data: bytes) -> None:
    assert decode_body(data) is None
