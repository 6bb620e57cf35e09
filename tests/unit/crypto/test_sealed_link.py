"""Frames of a link are opened by the two peers that made it, in order, and by nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto.client_keys import agreement_key, verify
from backend.crypto.sealed_link import TAG_BYTES, FrameOpener, Sealer, Signalled, link_keys, signal_statement
from backend.errors import BadKeyError, LinkError
from tests.contract.vectors.mesh.make_sealed_link import LARGER, PLACE, SMALLER, vectors
from tests.contract.vectors.secagg.make_masked import made

GOLDEN: dict[str, Any] = json.loads(PLACE.read_text("utf-8"))
KEY = made("key")
SIGNAL = Signalled(
    task="digits", sender=SMALLER, receiver=LARGER, session=bytes(16), kind="seal", body=b"body"
)


def test_the_golden_vectors_are_what_is_computed() -> None:
    assert vectors() == GOLDEN


def test_what_one_seals_the_other_opens() -> None:
    for sender, receiver in (GOLDEN["links"], reversed(GOLDEN["links"])):
        assert sender["outward"] == receiver["inward"]
        opener = FrameOpener(bytes.fromhex(receiver["inward"]))
        for case in sender["frames"]:
            assert opener.open(bytes.fromhex(case["sealed"])).hex() == case["frame"]


def test_a_key_is_for_one_direction_and_one_pair() -> None:
    one, other, third = made("one"), made("other"), made("third")
    keys = [
        link_keys(SMALLER, LARGER, one, agreement_key(other)),
        link_keys(SMALLER, LARGER, one, agreement_key(third)),
        link_keys(SMALLER, "f" * 16, one, agreement_key(other)),
    ]
    # The first two differ in the secret, the third in the name of who sends inward.
    assert len({key.outward for key in keys} | {key.inward for key in keys}) == 5


def test_a_public_key_of_low_order_is_refused() -> None:
    with pytest.raises(BadKeyError):
        link_keys(SMALLER, LARGER, made("one"), bytes(32))


def test_a_frame_is_aes_256_gcm_under_a_counter() -> None:
    sealer = Sealer(KEY)
    sealer.seal(b"first")
    assert sealer.seal(b"second") == AESGCM(KEY).encrypt((1).to_bytes(12, "big"), b"second", None)


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=8))
def test_frames_come_out_as_they_went_in(frames: list[bytes]) -> None:
    sealer, opener = Sealer(KEY), FrameOpener(KEY)
    sealed = [sealer.seal(memoryview(frame)) for frame in frames]
    assert [len(one) - TAG_BYTES for one in sealed] == [len(frame) for frame in frames]
    assert [opener.open(memoryview(one)) for one in sealed] == frames


def test_what_is_damaged_repeated_or_out_of_order_does_not_open() -> None:
    sealer, opener = Sealer(KEY), FrameOpener(KEY)
    first, second = sealer.seal(b"first"), sealer.seal(b"second")
    for bad in (second, b"", first[:-1], bytes([first[0] ^ 1]) + first[1:]):
        with pytest.raises(LinkError, match="not the next one"):
            opener.open(bad)
    assert opener.open(first) == b"first"
    with pytest.raises(LinkError):
        opener.open(first)


def test_a_signature_covers_every_word_of_a_signal() -> None:
    identity = bytes.fromhex(GOLDEN["peers"][0]["identity"])
    case = GOLDEN["signals"][0]
    told = Signalled(
        task=GOLDEN["task"],
        sender=SMALLER,
        receiver=LARGER,
        session=bytes.fromhex(case["session"]),
        kind=case["kind"],
        body=bytes.fromhex(case["body"]),
    )
    signature = bytes.fromhex(case["signature"])
    assert verify(identity, signature, signal_statement(told))
    for changed in (
        replace(told, task="digit"),
        replace(told, sender=LARGER),
        replace(told, receiver=SMALLER),
        replace(told, session=bytes(16)),
        replace(told, kind="bye"),
        replace(told, body=told.body + b"!"),
    ):
        assert not verify(identity, signature, signal_statement(changed))


def test_no_two_signals_have_the_same_statement() -> None:
    assert signal_statement(SIGNAL) != signal_statement(replace(SIGNAL, kind="sea", body=b"lbody"))
