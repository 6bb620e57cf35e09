"""Signals between peers: golden ones are read and written, others refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backend.errors import FrameError
from backend.wire.signals import SignedSignal, decode_body, decode_signal, encode_body, encode_signal
from tests.contract.vectors.mesh.make_sealed_link import BODIES, PLACE

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text("utf-8"))


def test_signals_are_read_and_written_again() -> None:
    for case, body in zip(GOLDEN["signals"], BODIES.values(), strict=True):
        signal = decode_signal(bytes.fromhex(case["note"]))
        assert encode_signal(signal).hex() == case["note"]
        assert decode_body(signal) == body
        assert encode_body(body).hex() == case["body"]


def test_what_is_no_signal_is_refused() -> None:
    note = bytes.fromhex(GOLDEN["signals"][0]["note"])
    signal = decode_signal(note)
    for bad in (b"", note[:-1], note + b"\0", b"\x80"):
        with pytest.raises(FrameError, match="not one of this protocol"):
            decode_signal(bad)
    with pytest.raises(FrameError):
        decode_body(SignedSignal(signal.session, "seal", signal.body, signal.signature))
