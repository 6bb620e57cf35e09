"""What a checkpoint says that clients gave."""

from __future__ import annotations

import msgspec

from backend.protocols.units.trust import TrustLevel
from backend.server.units.checkpoint_codec import given_without
from backend.server.units.epoch_record import Given
from tests.support.protocols.unit_conversations import VALID, begun, both, done


def test_what_is_to_be_done_again_after_a_restart_is_nobodys_yet() -> None:
    machine = begun(3, "ann", replicas=1)
    first, second = done(machine, "ann"), done(machine, "ann")
    given = {"ann": Given("peer", "tensorflow-cpu", 2, 200), "bob": Given("browser", "wasm", 1, 100)}
    assert given_without(given, machine, {second.unit}) == {
        "ann": Given("peer", "tensorflow-cpu", 1, 100),
        "bob": given["bob"],
    }
    assert given_without(given, machine, {first.unit, second.unit})["ann"].accepted == 0
    assert given_without(given, machine, ()) == given
    assert given["ann"].accepted == 2


def test_who_did_the_same_unit_is_no_further_either() -> None:
    machine = begun(1, "ann", "bob", replicas=2)
    grants = both(machine, "ann", "bob")
    machine.judged(0, {grant.lease: VALID for grant in grants})
    given = {name: Given("peer", "", 1, 100) for name in ("ann", "bob")}
    assert given_without(given, machine, {0}) == {name: Given("peer", "") for name in ("ann", "bob")}


def test_the_stored_keys_of_trust_stay_the_same() -> None:
    stored = {"quota": 5, "held": 3, "on_time": 2, "day": 1, "today": 4}
    level = msgspec.convert(stored, TrustLevel)
    assert level == TrustLevel(quota=5, streak=3, on_time=2, day=1, today=4)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(level)) == stored | {"faults": 0, "doubts": 0}
