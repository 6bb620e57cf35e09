"""A server lies about survivors and shares: honest clients refuse, and nothing of a single one is revealed.

The keys, signatures, shares and masks are real. A lying server says to each client what a test makes it say.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from backend.crypto import client_keys
from backend.crypto.round_context import survivors_statement
from backend.protocols.secagg.member import MemberStage
from backend.wire.masked_messages import Dealt, Member, Roster, Server, Survivors, Unmask
from backend.wire.messages import ServerFrame
from tests.support.protocols.secagg.malicious_server import SERVERS, Lying, ask, at_unmask
from tests.support.protocols.secagg.member_host import plan
from tests.support.protocols.secagg.world import World, masking


@pytest.mark.parametrize("server", SERVERS)
def test_both_shares_of_one_client_are_never_given(server: Server) -> None:
    world, honest = at_unmask(server, 7)
    without_last = list(range(6))
    for client in list(world.holders)[:6]:
        assert len(ask(world, client, honest)) == 1
        assert ask(world, client, honest) == [world.holders[client].machine.round.reveal]  # type: ignore[union-attr]  # It is in a round.
        other = replace(honest, alive=without_last)
        assert ask(world, client, other) == []
        assert world.holders[client].machine.stage is MemberStage.REFUSED
        assert ask(world, client, honest) == []
    world.check()


def test_two_lists_of_survivors_for_two_halves_recover_at_most_one_secret_of_each() -> None:
    """A server taken for honest tells some that a client is alive and others that it is not."""
    for target in range(9):
        world, honest = at_unmask("honest", 9)
        lied = replace(honest, alive=[place for place in honest.alive if place != target])
        for place, client in enumerate(world.holders):
            ask(world, client, honest if place % 2 else lied)
        world.check()
        assert world.holders[f"{target:04x}"].gave.get(1, (set(), set()))[1] == set()


def test_two_lists_of_survivors_are_never_both_vouched_for() -> None:
    world = Lying(9, "active")
    world.settle()
    alive = list(range(9))
    signed: dict[int, list[int]] = {0: [], 1: []}
    for place, client in enumerate(world.holders):
        for way, named in enumerate((alive, alive[:8])):
            holder = world.holders[client]
            holder.hears(Survivors(round=1, alive=named))
            while holder.outcomes:
                holder.work()
            current = holder.machine.round
            if current and current.consistency_signature and current.alive == named:
                signed[way].append(place)
    threshold = world.masks.graph.degree.threshold
    assert min(len(places) for places in signed.values()) < threshold
    assert len(world.refusing) == 9


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(
    "alive", [[0, 1, 2], [0, 1, 2, 3], [0], [], [0, 1, 2, 3, 4, 5, 6, 7], [3, 2, 1, 0, 4, 5]]
)
def test_survivors_below_the_threshold_or_out_of_order_unmask_nothing(
    server: Server, alive: list[int]
) -> None:
    world, honest = at_unmask(server, 7)
    for client in world.holders:
        assert ask(world, client, replace(honest, alive=alive)) == []
    assert len(world.refusing) == 7
    assert not world.revealing


@pytest.mark.parametrize("server", SERVERS)
def test_survivors_below_the_minimum_unmask_nothing(server: Server) -> None:
    world = Lying(7, server, least=6)
    world.settle()
    for client in world.holders:
        assert ask(world, client, Survivors(round=1, alive=[0, 1, 2, 3, 4])) == []
        assert ask(world, client, Unmask(round=1, alive=[0, 1, 2, 3, 4], vouchers=[], signatures=[])) == []
    assert len(world.refusing) == 7
    assert not world.revealing


def test_a_survivor_that_never_dealt_shares_unmasks_nothing() -> None:
    """It could be anybody: nobody holds a share that would open its update alone."""
    for server in SERVERS:
        world = World(7, masking(server))
        last = list(world.holders)[-1]
        for client in world.holders:
            world.work(client)
            world.arrive(client)
        world.hang_up(last)
        world.settle()
        world.wait()
        assert len(world.taken) == 6
        for client in list(world.holders)[:6]:
            holder = world.holders[client]
            holder.hears(Unmask(round=1, alive=list(range(7)), vouchers=[], signatures=[]))
            assert holder.machine.stage is MemberStage.REFUSED


VOUCHERS: dict[str, Callable[[Unmask, World], Unmask]] = {
    "too few": lambda frame, _: replace(frame, vouchers=frame.vouchers[:4], signatures=frame.signatures[:4]),
    "one of them many times": lambda frame, _: replace(
        frame, vouchers=[0] * 5, signatures=[frame.signatures[0]] * 5
    ),
    "signatures of others": lambda frame, _: replace(frame, signatures=frame.signatures[::-1]),
    "forged": lambda frame, _: replace(frame, signatures=[bytes(64)] * len(frame.signatures)),
    "of another list": lambda frame, _: replace(frame, alive=frame.alive[:-1]),
    "signed by the server": lambda frame, world: replace(
        frame,
        signatures=[
            client_keys.sign(bytes([place] * 32), survivors_statement(world.masks.graph.context, frame.alive))
            for place in frame.vouchers
        ],
    ),
    "none": lambda frame, _: replace(frame, vouchers=[], signatures=[]),
    "fewer signatures than names": lambda frame, _: replace(frame, signatures=frame.signatures[1:]),
}


@pytest.mark.parametrize("name", list(VOUCHERS))
def test_vouchers_that_do_not_vouch(name: str) -> None:
    world, honest = at_unmask("active", 7)
    assert len(honest.vouchers) == 5
    for client in world.holders:
        assert ask(world, client, VOUCHERS[name](honest, world)) == []
    assert len(world.refusing) == 7
    assert not world.revealing


@pytest.mark.parametrize("server", SERVERS)
def test_frames_of_an_old_round_are_not_heard_in_a_new_one(server: Server) -> None:
    world, honest = at_unmask(server)
    old = [one.machine.round for one in world.holders.values()]
    for current, holder in zip(old, world.holders.values(), strict=True):
        assert current is not None
        holder.planned(plan(2, masking(server)))
        while holder.outcomes:
            holder.work()
        before = holder.machine.stage
        for frame in (Roster(round=1, members=current.members), current.dealt, honest):
            assert frame is not None
            holder.hears(frame)
        assert holder.machine.stage is before
        assert not holder.outcomes
    assert not world.revealing


def test_keys_of_an_old_round_are_refused_in_a_new_one() -> None:
    """The signature is bound to the round, so that a server cannot bring a client's old keys again."""
    world = Lying(5, "active")
    world.settle()
    members = list(world.masks.graph.members)
    for client, holder in world.holders.items():
        holder.planned(plan(2, masking("active")))
        while holder.outcomes:
            holder.work()
        current = holder.machine.round
        assert current is not None
        assert current.keys is not None
        sent = current.keys
        fresh = Member(client, sent.mask_key, sent.share_key, sent.seed_hash, sent.identity, sent.signature)
        holder.hears(Roster(round=2, members=[fresh if one.client == client else one for one in members]))
        while holder.outcomes:
            holder.work()
        assert holder.machine.stage is MemberStage.REFUSED


@pytest.mark.parametrize("server", SERVERS)
def test_a_round_is_not_played_twice(server: Server) -> None:
    """Two updates under the same masks would differ by what a client learned in between."""
    world, _ = at_unmask(server)
    for holder in world.holders.values():
        holder.planned(plan(1, masking(server), seed=2))
        assert holder.machine.stage is MemberStage.REFUSED
        assert holder.secrets is None
    for holder in world.holders.values():
        holder.planned(plan(2, masking(server)))
        holder.work()
        holder.planned(plan(1, masking(server)))
        assert holder.machine.latest == 2
        assert not holder.outcomes


@pytest.mark.parametrize("server", SERVERS)
def test_shares_dealt_otherwise_to_one_than_they_were_sealed_open_nothing(server: Server) -> None:
    """The server mixes sealed shares up: none can be opened, and nothing true is revealed of them."""

    def lie(_client: str, frame: ServerFrame) -> ServerFrame:
        return replace(frame, sealed=frame.sealed[::-1]) if isinstance(frame, Dealt) else frame

    world = Lying(6, server, lie)
    world.play()
    assert world.outcome == "failed"
    assert world.sum is None
    world.check()


def divided(client: int) -> list[int]:
    """The survivors named to one of ten clients, so that each of the last four seems dead to seven."""
    last = [6, 7, 8, 9]
    spared = client if client in last else last[client % 4]
    return [0, 1, 2, 3, 4, 5, spared]


@pytest.mark.parametrize("server", SERVERS)
def test_only_vouchers_keep_a_lying_server_from_a_sum_of_fewer_than_were_wanted(server: Server) -> None:
    """Ten clients want to be among seven at least. Told different survivors, they give away a sum of six.

    Nobody's own update can be read even so, but it is why survivors are signed where the server may lie.
    """
    world = Lying(10, server, least=7)
    world.settle()
    assert world.masks.graph.degree.threshold == 7
    for at, client in enumerate(world.holders):
        alive = divided(at)
        signatures: dict[int, bytes] = {}
        if server == "active":
            for place in alive:
                other = list(world.holders.values())[place]
                other.hears(Survivors(round=1, alive=alive))
                while other.outcomes:
                    other.work()
                current = other.machine.round
                if current and current.consistency_signature and current.alive == alive:
                    signatures[place] = current.consistency_signature.signature
        vouchers = list(signatures)
        ask(
            world,
            client,
            Unmask(round=1, alive=alive, vouchers=vouchers, signatures=list(signatures.values())),
        )
    world.check_secrets()
    assert world.readable() == ([6] if server == "honest" else [])
