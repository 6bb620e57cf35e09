"""What a checkpoint says that clients gave."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import msgspec
import numpy as np

from backend.numerics.aggregation.asynchronous import no_memory
from backend.protocols.units.records import PartialWork
from backend.protocols.units.trust import TrustLevel
from backend.server.units.checkpoint_codec import (
    DecodedCheckpoint,
    decode_checkpoint,
    encode_checkpoint,
    given_without,
)
from backend.server.units.epoch_record import Epoch, Given
from backend.server.units.parameters.overwritten_results import OverwrittenResults
from backend.server.units.setup import without_rests
from backend.server.units.state import ModelState, RecordState, RunState, UnitsState
from backend.server.units.validation.usual_results import UsualResults
from backend.stores.parameters.contract import Receipt
from tests.support.protocols.unit_conversations import VALID, begun, both, done, lease

WEIGHTS = np.zeros(2, np.float32)
TASK = SimpleNamespace(
    shards=SimpleNamespace(train=[]),
    batch_size=4,
    epochs=2,
    file=SimpleNamespace(training=SimpleNamespace(steps=None)),
)


def receipt(base: int, lost: float) -> Receipt:
    return Receipt(WEIGHTS, no_memory(), base, staleness=0, lost=lost, seconds=0.0)


def test_a_checkpoint_says_how_many_results_were_overwritten_and_taken_out() -> None:
    model = ModelState(0, WEIGHTS, no_memory())
    model.apply(receipt(1, 0.0))
    # The receipts of two servers arrive in any order; the newer one's weights lack the other's result.
    model.apply(receipt(3, 1.0))
    model.apply(receipt(2, 0.0))
    assert (model.number, model.lost, model.contained) == (3, 1, 2)
    model.taking_out = 1
    model.taken_out(receipt(4, 1.0), 2)
    assert (model.steady, model.contained) == (True, 0)
    state = SimpleNamespace(
        model=model,
        run=RunState(Epoch(1, 0)),
        scheduler=begun(3, "ann", replicas=1),
        records=RecordState(),
        usual=UsualResults(),
        task=TASK,
        traffic=(700, 40),
        overwritten=OverwrittenResults({"ann": [3, 4]}),
    )
    content = decode_checkpoint(encode_checkpoint(cast(UnitsState, state), (), 0.0))
    assert (content.number, content.lost, content.removed) == (3, 1.0, 2)
    assert content.traffic == (700, 40)
    assert content.order == "4 2 0"
    assert OverwrittenResults(content.overwritten).take("ann") == [3, 4]


def test_rests_of_units_are_dropped_if_their_steps_have_other_rows_after_a_restart() -> None:
    machine = begun(2, "ann", replicas=1)
    grant = lease(machine, "ann")
    machine.returned("ann", grant.lease, 1.0, PartialWork(7, 60))
    machine.judged(grant.unit, {grant.lease: VALID})
    before = DecodedCheckpoint(machine.snapshot(), Epoch(1, 0), 1, [])
    after = without_rests(before).scheduler
    assert [unit.work.unit for unit in before.scheduler.open] == [1, 2]
    assert ([unit.work.unit for unit in after.open], after.done, after.dropped) == ([1], 1, 1)


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
