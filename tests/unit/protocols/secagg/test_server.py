"""The server of a masked round: what leads where, what is refused alone, and when it fails closed."""

from __future__ import annotations

import copy
from collections.abc import Callable

import msgspec
import pytest

from backend.crypto import client_keys
from backend.crypto.round_context import base_hash, keys_statement
from backend.errors import NotMaskedError
from backend.protocols.rounds.phases import IllegalEventError
from backend.protocols.secagg.server_effects import FailMaskedRound
from backend.protocols.secagg.server_stages import ServerStage
from backend.wire.masked_messages import ConsistencySignature, Decline, Keys, Reveal, Server, Shares
from tests.support.protocols.secagg.member_host import Holder, terms_of
from tests.support.protocols.secagg.stages import (
    FIRST,
    FIVE,
    OTHERS,
    STAGES,
    at_input,
    at_keys,
    at_shares,
    at_survivors,
    at_unmask,
    state,
)
from tests.support.protocols.secagg.world import World


@pytest.mark.parametrize("server", ["honest", "active"])
def test_a_round_goes_from_keys_to_the_exact_sum(server: Server) -> None:
    world = at_keys(server=server)
    world.settle()
    assert world.masks.timer() is None
    world.end_inputs()
    world.settle()
    assert world.outcome == "done"
    assert len(world.taken) == 5
    assert not world.excluded
    world.check()


def test_a_sum_of_fewer_than_were_promised_is_not_unmasked_even_where_it_could_be() -> None:
    masks = at_input(uploaded=4, least=5).masks
    assert masks.inputs_over(0.0) == [FailMaskedRound(1, "4 of at least 5 masked updates came.")]
    assert masks.timer() is None


# Which calls of a host are its mistake in which stage.
ILLEGAL = {
    "inputs_over": {*ServerStage} - {ServerStage.MASKED_INPUT},
    "unmasked": {*ServerStage},
    "mismatched": {*ServerStage},
    "input_accepted": {*ServerStage} - {ServerStage.MASKED_INPUT},
}


@pytest.mark.parametrize("stage", list(ServerStage))
@pytest.mark.parametrize("name", list(ILLEGAL))
def test_what_cannot_be_raises_and_changes_nothing(stage: ServerStage, name: str) -> None:
    masks = STAGES[stage]().masks
    calls: dict[str, Callable[[], object]] = {
        "inputs_over": lambda: masks.inputs_over(0.0),
        "unmasked": masks.unmasked,
        "mismatched": lambda: masks.mismatched((), 0.0),
        "input_accepted": lambda: masks.input_accepted(FIRST),
    }
    before = state(masks)
    if stage in ILLEGAL[name]:
        with pytest.raises(IllegalEventError):
            calls[name]()
        assert state(masks) == before
    else:
        calls[name]()


def test_an_update_that_cannot_be_unmasked_is_never_accepted() -> None:
    masks = at_input().masks
    with pytest.raises(IllegalEventError):
        masks.input_accepted("nobody")


@pytest.mark.parametrize("stage", list(ServerStage))
def test_a_frame_of_another_round_or_of_a_stranger_changes_nothing(stage: ServerStage) -> None:
    world = STAGES[stage]()
    masks, before = world.masks, state(world.masks)
    for client, number in ((FIRST, 2), ("nobody", 1)):
        assert masks.keys_arrived(client, keys_of(world.holders[FIRST], number), 0.0) == []
        assert masks.shares_arrived(client, Shares(round=number, sealed=[]), 0.0) == []
        assert (
            masks.consistency_signature_arrived(
                client, ConsistencySignature(round=number, signature=bytes(64)), 0.0
            )
            == []
        )
        assert masks.reveal_arrived(client, Reveal(round=number, shares=[]), 0.0) == []
        assert masks.declined(client, Decline(round=number, spent=False), 0.0) == []
    assert masks.client_ready("nobody") == []
    assert masks.client_left("nobody", 0.0, lost=True) == []
    assert state(masks) == before


def keys_of(holder: Holder, number: int = 1) -> Keys:
    if holder.machine.round is None or holder.machine.round.keys is None:
        return Keys(
            round=number, mask_key=bytes([9] * 32), share_key=bytes([8] * 32), seed_hash=bytes(32),
            identity=bytes([7] * 32), signature=bytes(64),
        )  # fmt: skip
    return msgspec.structs.replace(holder.machine.round.keys, round=number)


@pytest.mark.parametrize(
    "stage",
    [ServerStage.SHARE_KEYS, ServerStage.MASKED_INPUT, ServerStage.CONSISTENCY_CHECK, ServerStage.UNMASK],
)
def test_what_a_client_says_again_is_taken_again_without_effects(stage: ServerStage) -> None:
    world = STAGES[stage]()
    current = world.holders[FIRST].machine.round
    assert current is not None
    before = state(world.masks)
    assert current.keys is not None
    assert world.masks.keys_arrived(FIRST, current.keys, 0.0) == []
    if current.shares:
        assert world.masks.shares_arrived(FIRST, current.shares, 0.0) == []
    if current.consistency_signature:
        assert world.masks.consistency_signature_arrived(FIRST, current.consistency_signature, 0.0) == []
    assert state(world.masks) == before


@pytest.mark.parametrize("stage", [ServerStage.SHARE_KEYS, ServerStage.MASKED_INPUT])
def test_other_keys_than_before_put_one_client_out_and_nobody_else(stage: ServerStage) -> None:
    world = STAGES[stage]() if stage is ServerStage.SHARE_KEYS else at_input(uploaded=0)
    other = msgspec.structs.replace(keys_of(world.holders[FIRST]), mask_key=bytes([1] * 32))
    world.perform(world.masks.keys_arrived(FIRST, other, 0.0))
    assert list(world.excluded) == [FIRST]
    assert isinstance(world.masks.may_offer(FIRST), NotMaskedError)
    world.settle()
    world.end_inputs()
    world.settle()
    assert world.outcome == "done"
    assert sorted(world.taken) == OTHERS
    world.check()


@pytest.mark.parametrize("field", ["mask_key", "share_key", "seed_hash", "identity", "signature"])
def test_keys_that_others_would_refuse_are_refused_alone(field: str) -> None:
    world = at_keys()
    for client in FIVE:
        world.work(client)
    for client in OTHERS:
        world.arrive(client)
    theirs, mine = keys_of(world.holders["0001"]), keys_of(world.holders[FIRST])
    taken = msgspec.structs.replace(mine, **{field: getattr(theirs, field)})
    world.perform(world.masks.keys_arrived(FIRST, taken, 0.0))
    assert list(world.excluded) == [FIRST]
    world.lines[FIRST].up.clear()
    world.settle()
    world.end_inputs()
    world.settle()
    assert [member.client for member in world.masks.graph.members] == OTHERS
    world.check()
    assert world.outcome == "done"


def signed_keys(world: World, client: str, **changes: bytes) -> Keys:
    """Keys as `client` would sign them, with some changed."""
    sent = msgspec.structs.replace(keys_of(world.holders[client]), **changes)
    base = base_hash(terms_of(world.train, world.holders[client].update.size))
    statement = keys_statement(base, client, sent.mask_key, sent.share_key, sent.seed_hash)
    return msgspec.structs.replace(
        sent, signature=client_keys.sign(world.holders[client].identity, statement)
    )


def test_well_signed_keys_are_refused_that_another_client_sent_or_nobody_can_use() -> None:
    changes: list[dict[str, bytes]] = [
        {"mask_key": bytes(32)},
        {"share_key": bytes([1]) + bytes(31)},
    ]
    world = at_keys()
    for client in FIVE:
        world.work(client)
    world.arrive("0001")
    theirs = keys_of(world.holders["0001"])
    changes += [
        {"mask_key": theirs.mask_key},
        {"mask_key": theirs.share_key},
        {"seed_hash": theirs.seed_hash},
    ]
    changes.append({"mask_key": keys_of(world.holders[FIRST]).share_key})
    for change in changes:
        again = copy.deepcopy(world)
        again.perform(again.masks.keys_arrived(FIRST, signed_keys(again, FIRST, **change), 0.0))
        assert list(again.excluded) == [FIRST]
    world.perform(world.masks.keys_arrived(FIRST, signed_keys(world, FIRST), 0.0))
    assert not world.excluded


def test_what_was_said_to_a_server_that_was_killed_is_passed_over_by_the_next() -> None:
    world = at_keys()
    world.perform(world.masks.shares_arrived(FIRST, Shares(round=1, sealed=[b"x"] * 4), 0.0))
    world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=[b"x" * 32] * 5), 0.0))
    assert not world.excluded


def test_shares_for_too_few_are_refused() -> None:
    world = at_shares()
    world.perform(world.masks.shares_arrived(FIRST, Shares(round=1, sealed=[b"x"] * 3), 0.0))
    assert "neighbours" in str(world.excluded[FIRST])


def test_other_shares_than_before_put_one_client_out() -> None:
    world = at_input(uploaded=0)
    world.perform(world.masks.shares_arrived(FIRST, Shares(round=1, sealed=[b"x"] * 4), 0.0))
    assert list(world.excluded) == [FIRST]


def test_a_wrong_voucher_is_not_passed_on() -> None:
    world = at_survivors()
    world.perform(
        world.masks.consistency_signature_arrived(
            FIRST, ConsistencySignature(round=1, signature=bytes(64)), 0.0
        )
    )
    assert list(world.distrusted) == [FIRST]
    world.settle()
    assert world.outcome == "done"
    assert FIRST in world.taken
    world.check()


def test_what_was_revealed_in_a_wrong_number_or_twice_is_not_used() -> None:
    world = at_unmask()
    world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=[bytes(32)] * 4), 0.0))
    assert list(world.distrusted) == [FIRST]
    world = at_unmask()
    for shares in ([bytes(32)] * 5, [bytes([1] * 32)] * 5):
        world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=shares), 0.0))
    assert list(world.distrusted) == [FIRST]


def test_a_reveal_that_nobody_asked_for_is_refused() -> None:
    world = at_input(uploaded=0)
    world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=[bytes(32)] * 5), 0.0))
    assert list(world.excluded) == [FIRST]


def test_false_shares_are_passed_over_once_there_are_enough_true_ones() -> None:
    world = at_unmask()
    world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=[bytes([3] * 32)] * 5), 0.0))
    world.settle()
    assert world.outcome == "done"
    world.check()


def test_false_shares_of_too_many_end_in_a_closed_failure() -> None:
    world = at_unmask()
    for client in FIVE[:2]:
        world.perform(world.masks.reveal_arrived(client, Reveal(round=1, shares=[bytes([3] * 32)] * 5), 0.0))
    world.settle()
    assert world.outcome == "failed"
    assert world.sum is None
    assert world.recoveries == 0
    assert "2 clients are excluded" in str(world.failed)
    assert world.false_sharers == set(FIVE[:2])


def test_shares_that_nobody_could_open_do_not_count() -> None:
    world = at_unmask()
    world.perform(world.masks.reveal_arrived(FIRST, Reveal(round=1, shares=[b"\xff" * 32] * 5), 0.0))
    world.settle()
    assert world.recoveries == 1
    assert world.outcome == "done"
    world.check()
