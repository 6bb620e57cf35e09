"""A server lies about who is in a round: honest clients refuse, and nothing of a single one is revealed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from msgspec.structs import replace

from backend.crypto import client_keys
from backend.crypto.round_context import base_hash
from backend.protocols.secagg import server as secagg_server
from backend.wire.masked_messages import Member, Roster, Server
from backend.wire.messages import ServerFrame, Train
from tests.support.protocols.secagg.malicious_server import SERVERS, Lie, Lying, to_all
from tests.support.protocols.secagg.member_host import Holder, plan, terms_of
from tests.support.protocols.secagg.world import VALUES, World, masking


def swap(members: list[Member], place: int, **fields: bytes | str) -> list[Member]:
    return [replace(one, **fields) if at == place else one for at, one in enumerate(members)]


def own_member(world: World, client: str) -> Member:
    """A member that the server invents: well signed, by an identity of its own."""
    holder = Holder(client, np.zeros(VALUES, np.uint32), Random(client))
    holder.planned(world.train)
    holder.work()
    current = holder.machine.round
    assert current is not None
    assert current.keys is not None
    sent = current.keys
    return Member(client, sent.mask_key, sent.share_key, sent.seed_hash, sent.identity, sent.signature)


ROSTERS: dict[str, tuple[Lie, str]] = {
    "without the client itself": (
        lambda client, frame: replace(frame, members=[one for one in frame.members if one.client != client])
        if isinstance(frame, Roster)
        else frame,
        "does not have this client",
    ),
    "with other keys for the client itself": (
        lambda client, frame: replace(
            frame,
            members=[
                replace(one, mask_key=bytes([7] * 32)) if one.client == client else one
                for one in frame.members
            ],
        )
        if isinstance(frame, Roster)
        else frame,
        "does not have this client",
    ),
    "below the minimum": (
        to_all(Roster, lambda frame: replace(frame, members=frame.members[:2])), "among 3 at least"
    ),
    "with doubled keys": (
        lambda client, frame: replace(
            frame,
            members=[
                one
                if one.client in (client, frame.members[0].client)
                else replace(one, mask_key=frame.members[0].mask_key)
                for one in frame.members
            ],
        )
        if isinstance(frame, Roster)
        else frame,
        "same key",
    ),
    "with a client twice": (
        to_all(Roster, lambda frame: replace(frame, members=[*frame.members, frame.members[0]])), "twice"
    ),
}  # fmt: skip


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", list(ROSTERS))
def test_a_roster_that_cannot_be(name: str, server: Server) -> None:
    lie, reason = ROSTERS[name]
    world = Lying(server=server, lie=lie)
    world.play()
    assert len(world.refusing) == 5
    assert all(reason in holder.refusals[0] for holder in world.holders.values())
    assert not world.revealing
    assert not world.taken
    assert all(holder.secrets is None for holder in world.holders.values())


KEYS_SWAPPED: dict[str, dict[str, bytes | str]] = {
    "another mask key": {"mask_key": client_keys.agreement_key(bytes([5] * 32))},
    "another share key": {"share_key": client_keys.agreement_key(bytes([5] * 32))},
    "another seed": {"seed_hash": bytes([5] * 32)},
    "another identity": {"identity": client_keys.identity_key(bytes([5] * 32))},
    "a forged signature": {"signature": bytes([5] * 64)},
    "another name": {"client": "ffff"},
}


@pytest.mark.parametrize("change", list(KEYS_SWAPPED))
def test_keys_swapped_in_the_roster_are_refused_where_the_server_may_lie(change: str) -> None:
    def lie(client: str, frame: ServerFrame) -> ServerFrame:
        if not isinstance(frame, Roster):
            return frame
        other = 1 if client == "0000" else 0
        return replace(frame, members=swap(frame.members, other, **KEYS_SWAPPED[change]))

    world = Lying(lie=lie)
    world.play()
    assert len(world.refusing) == 5
    assert not world.revealing
    assert not world.taken


def test_keys_swapped_by_a_server_taken_for_honest_reveal_nothing_all_the_same() -> None:
    """Who has another roster derives other masks and seals for nobody: the context is in everything."""

    def lie(client: str, frame: ServerFrame) -> ServerFrame:
        if not isinstance(frame, Roster):
            return frame
        other = 1 if client == "0000" else 0
        return replace(frame, members=swap(frame.members, other, seed_hash=client.encode() * 8))

    world = Lying(server="honest", lie=lie)
    world.play()
    assert world.sum is None
    assert world.outcome == "failed"
    assert all(set(holder.gave) <= {1} for holder in world.holders.values())


@pytest.mark.parametrize("server", SERVERS)
def test_different_models_for_different_clients_add_up_to_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Models(Lying):
        def told(self, client: str) -> Train:
            return plan(1, masking(server), weights=("a" if client < "0003" else "c") * 64)

    # An honest server refuses keys that are signed for another model; this one takes them all.
    monkeypatch.setattr(secagg_server, "keys_refusal", lambda *_: None)
    world = Models(server=server)
    world.play()
    assert world.sum is None
    assert world.outcome == "failed"
    world.check()
    assert not world.revealing or server == "honest"


def test_clients_of_different_models_derive_other_contexts() -> None:
    one, other = (base_hash(terms_of(plan(1, masking(), weights=letter * 64), VALUES)) for letter in "ac")
    assert one != other


def test_an_identity_that_changed_since_the_round_before_is_refused() -> None:
    world = Lying(5, "active")
    known = client_keys.identity_key(bytes([9] * 32))
    for client, holder in world.holders.items():
        holder.known = {other: known for other in world.holders if other != client}
    world.play()
    assert len(world.refusing) == 5
    assert not world.revealing


def test_clients_that_a_server_invents_are_refused_by_whoever_has_a_list() -> None:
    world = Lying(3, "active")
    listed = {client: client_keys.identity_key(holder.identity) for client, holder in world.holders.items()}
    invented = [own_member(world, name) for name in ("aaaa", "bbbb")]
    world.lie = to_all(Roster, lambda frame: replace(frame, members=[*frame.members, *invented]))
    for holder in world.holders.values():
        holder.known = {**listed, "aaaa": bytes(32), "bbbb": bytes(32)}
    world.play()
    assert len(world.refusing) == 3
    assert not world.revealing
