"""What members of a masked round say: on the wire, and signed."""

from __future__ import annotations

import pytest
from msgspec import msgpack

from backend.crypto import client_keys
from backend.crypto.round_context import base_hash, keys_statement
from backend.errors import FrameError
from backend.wire.codec import decode_client, decode_server, encode
from tests.support.protocols.secagg.member_host import plan, terms_of
from tests.support.protocols.secagg.world import VALUES, World, masking


def test_values_too_large_for_the_wire_are_no_frames() -> None:
    """Keys of another length, shares without end, places beyond any roster: the decoders refuse them."""
    key = bytes(32)
    names = ("mask_key", "share_key", "seed_hash", "identity")
    keys = {"type": "keys", "round": 1, **dict.fromkeys(names, key), "signature": bytes(64)}
    assert decode_client(msgpack.encode(keys))
    too_long = [
        {"type": "reveal", "round": 1, "shares": [bytes(33)]},
        {"type": "reveal", "round": 1, "shares": [key] * 2049},
        {"type": "shares", "round": 1, "sealed": [bytes(257)]},
        {"type": "shares", "round": 1, "sealed": [bytes(1)] * 2049},
        {"type": "vouch", "round": 1, "signature": bytes(65)},
        {**keys, "round": 2**53},
        {**keys, "mask_key": bytes(33)},
        {**keys, "signature": bytes(63)},
    ]  # fmt: skip
    for frame in too_long:
        with pytest.raises(FrameError):
            decode_client(msgpack.encode(frame))
    for frame in (
        {"type": "survivors", "round": 1, "alive": [2048]},
        {"type": "survivors", "round": 1, "alive": [-1]},
        {"type": "unmask", "round": 1, "alive": [0] * 2049, "vouchers": [], "signatures": []},
        {"type": "dealt", "round": 1, "senders": [0], "sealed": [bytes(257)]},
    ):
        with pytest.raises(FrameError):
            decode_server(msgpack.encode(frame))


def test_what_members_say_survives_the_wire() -> None:
    world = World(5, masking("active"))
    world.settle()
    world.end_inputs()
    world.settle()
    for holder in world.holders.values():
        current = holder.machine.round
        assert current is not None
        for frame in (current.keys, current.shares, current.consistency_signature, current.reveal):
            if frame is not None:
                assert decode_client(encode(frame)) == frame


def test_a_signature_of_keys_is_bound_to_model_and_client() -> None:
    identity = bytes([1] * 32)
    bases = [base_hash(terms_of(plan(number, masking()), VALUES)) for number in (1, 2)]
    keys = (bytes([1] * 32), bytes([2] * 32), bytes([3] * 32))
    signature = client_keys.sign(identity, keys_statement(bases[0], "0000", *keys))
    public = client_keys.identity_key(identity)
    assert client_keys.verify(public, signature, keys_statement(bases[0], "0000", *keys))
    assert not client_keys.verify(public, signature, keys_statement(bases[1], "0000", *keys))
    assert not client_keys.verify(public, signature, keys_statement(bases[0], "0001", *keys))
