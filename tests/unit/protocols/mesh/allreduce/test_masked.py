"""A group whose pieces are masked: for whom, by whose keys, and that no part is added up twice."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from backend.crypto.client_keys import agreement_key
from backend.protocols.mesh.allreduce import group_events
from backend.protocols.mesh.allreduce.member import AllReduce
from backend.wire.peer_messages import Ask, Begin, Complain, Config, Holds
from tests.contract.vectors.secagg.make_masked import made
from tests.support.protocols.allreduce.schedules import order

OF = {"round": 3, "group": 0}
KEYS = [agreement_key(made(f"key {place}")) for place in range(4)]
DIGEST = bytes(range(32))
ALL = [0, 1, 2, 3]


@dataclass
class Talk:
    """The member at place 1 of a group of four, which owns part 1; others are heard at time 1 or later."""

    machine: AllReduce
    now: float = 1.0

    def __call__(self, event: group_events.Event) -> list[group_events.Effect]:
        self.now += 0.01
        return self.machine.happened(event, self.now)

    def hear(self, place: int, frame: group_events.Control) -> list[group_events.Effect]:
        return self(group_events.MemberFrameReceived(place, frame))


def begin(place: int, key: bytes | None = None) -> Begin:
    return Begin(**OF, weight=2.0 + place, commitments=[], key=KEYS[place] if key is None else key)


def config(alive: list[int], owners: list[int]) -> Config:
    weights = [2.0, 3.0, 4.0, 5.0]
    return Config(**OF, view=0, step=2, alive=alive, owners=owners, parts=[b""] * 4, weights=weights)


@pytest.fixture
def talk() -> Talk:
    """All are linked; the member is prepared."""
    talk = Talk(AllReduce(order(4, "butterfly", "masked"), 1, 0.0))
    for place in (0, 2, 3):
        talk(group_events.MemberLinked(place))
    talk(group_events.Prepared(3.0, [], KEYS[1]))
    return talk


def met(talk: Talk) -> list[group_events.Effect]:
    """Everybody's key is here; returns what follows from the last one."""
    for place in (0, 2):
        assert not [one for one in talk.hear(place, begin(place)) if isinstance(one, group_events.SendPiece)]
    return talk.hear(3, begin(3))


def kinds(effects: list[group_events.Effect], kind: type[group_events.Effect]) -> list[group_events.Effect]:
    return [one for one in effects if isinstance(one, kind)]


def test_a_piece_is_sent_when_all_keys_are_there_and_is_masked_for_all(talk: Talk) -> None:
    pieces = kinds(met(talk), group_events.SendPiece)
    weights = [2.0, 3.0, 4.0, 5.0]
    assert pieces == [group_events.SendPiece(part, part, ALL, weights) for part in (0, 2, 3)]


def test_only_pieces_for_the_set_of_the_step_are_added_up(talk: Talk) -> None:
    met(talk)
    for place, of in ((0, ALL), (2, [0, 1, 2]), (3, ALL)):
        assert not kinds(talk(group_events.PieceReceived(place, 1, of, DIGEST)), group_events.Reduce)
    assert kinds(talk(group_events.PieceReceived(2, 1, ALL, DIGEST)), group_events.Reduce) == [
        group_events.Reduce(1, ALL, [2.0, 3.0, 4.0, 5.0], None)
    ]


def test_pieces_are_masked_anew_for_those_who_are_left(talk: Talk) -> None:
    met(talk)
    talk.hear(0, Ask(**OF, view=0, step=2))
    pieces = kinds(talk.hear(0, config([0, 1, 2], [0, 1, 2, 0])), group_events.SendPiece)
    weights = [2.0, 3.0, 4.0]
    assert pieces == [
        group_events.SendPiece(part, to, [0, 1, 2], weights) for part, to in ((0, 0), (2, 2), (3, 0))
    ]


def test_a_piece_that_comes_before_the_step_it_is_for_counts_in_it(talk: Talk) -> None:
    met(talk)
    talk(group_events.PieceReceived(2, 1, [0, 1, 2], DIGEST))
    talk(group_events.PieceReceived(0, 1, [0, 1, 2], DIGEST))
    talk.hear(0, Ask(**OF, view=0, step=2))
    assert kinds(talk.hear(0, config([0, 1, 2], [0, 1, 2, 0])), group_events.Reduce)


def test_nobody_masks_for_fewer_than_three(talk: Talk) -> None:
    met(talk)
    talk.hear(0, Ask(**OF, view=0, step=2))
    assert talk.hear(0, config([0, 1], [0, 1, 0, 0])) == []


def test_what_it_holds_is_said_when_a_sum_in_hand_is_made(talk: Talk) -> None:
    met(talk)
    for place in (0, 2, 3):
        talk(group_events.PieceReceived(place, 1, ALL, DIGEST))
    assert talk.hear(0, Ask(**OF, view=0, step=2)) == []
    (said,) = kinds(talk(group_events.Reduced(1, ALL, DIGEST)), group_events.SendToMembers)
    assert isinstance(said, group_events.SendToMembers)
    assert isinstance(said.frame, Holds)
    assert said.frame.parts == [b"", DIGEST, b"", b""]


def test_a_sum_in_hand_is_made_though_one_in_it_turns_out_to_send_nonsense(talk: Talk) -> None:
    """Another one without that member would tell its piece."""
    met(talk)
    for place in (0, 2, 3):
        talk(group_events.PieceReceived(place, 1, ALL, DIGEST))
    talk(group_events.MemberUnfit(3, "Its piece of part 2 is short."))
    assert talk.hear(0, Ask(**OF, view=0, step=2)) == []
    (said,) = kinds(talk(group_events.Reduced(1, ALL, DIGEST)), group_events.SendToMembers)
    assert isinstance(said, group_events.SendToMembers)
    assert isinstance(said.frame, Holds)
    assert said.frame.parts == [b"", DIGEST, b"", b""]


def test_who_said_what_it_holds_begins_no_sum_of_that_step_any_more(talk: Talk) -> None:
    met(talk)
    for place in (0, 2):
        talk(group_events.PieceReceived(place, 1, ALL, DIGEST))
    assert kinds(talk.hear(0, Ask(**OF, view=0, step=2)), group_events.SendToMembers)
    assert talk(group_events.PieceReceived(3, 1, ALL, DIGEST)) == []


def test_who_cannot_mask_for_a_member_says_that_it_cannot_go_on_with_it(talk: Talk) -> None:
    for place in (0, 2):
        talk.hear(place, begin(place))
    talk(group_events.MemberLost(3))
    talk.now += 10.0
    (said,) = kinds(talk(group_events.GroupTimePassed()), group_events.SendToMembers)
    assert isinstance(said, group_events.SendToMembers)
    assert isinstance(said.frame, Complain)
    assert (said.places, said.frame.place, said.frame.fault) == ([0], 3, "unfit")


@pytest.mark.parametrize("key", [b"", KEYS[3][:31], bytes(32)], ids=["none", "short", "of low order"])
def test_a_member_without_a_usable_key_is_unfit(talk: Talk, key: bytes) -> None:
    (said,) = kinds(talk.hear(3, begin(3, key)), group_events.SendToMembers)
    assert isinstance(said, group_events.SendToMembers)
    assert isinstance(said.frame, Complain)
    assert (said.frame.place, said.frame.fault) == (3, "unfit")


def test_a_key_has_no_place_where_nothing_is_masked() -> None:
    machine = AllReduce(order(4, "butterfly"), 1, 0.0)
    machine.happened(group_events.MemberLinked(0), 0.1)
    effects = machine.happened(
        group_events.MemberFrameReceived(2, Begin(**OF, weight=1.0, commitments=[DIGEST] * 4, key=KEYS[2])),
        0.2,
    )
    assert [
        one.frame.fault
        for one in effects
        if isinstance(one, group_events.SendToMembers) and isinstance(one.frame, Complain)
    ] == ["unfit"]


@pytest.mark.parametrize(
    "change", [{"exchange": "ring"}, {"reducer": "trimmed_mean"}, {"exchange": "full", "bounds": [0, 40]}]
)
def test_an_order_that_cannot_be_masked_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="butterfly and a plain mean"):
        AllReduce(msgspec.structs.replace(order(4, "butterfly", "masked"), **change), 1, 0.0)


def test_a_masked_group_of_two_is_refused() -> None:
    with pytest.raises(ValueError, match="has 2 members and needs 3"):
        AllReduce(msgspec.structs.replace(order(2, "butterfly"), precision="masked"), 1, 0.0)
