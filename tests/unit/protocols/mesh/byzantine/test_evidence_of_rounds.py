"""What machines give of a round is enough to convict whom they ban, and no one else."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from backend.protocols.mesh.byzantine.evidence.building import EvidenceBuilder
from backend.protocols.mesh.byzantine.evidence.conviction import Conviction, check_evidence
from backend.protocols.mesh.byzantine.round_events import MeanMade, MeansChecked
from backend.wire.byzantine_bodies import MadeBody
from tests.support.protocols.byzantine.liars import own, said_again
from tests.support.protocols.byzantine.member_host import hashed_keys
from tests.support.protocols.byzantine.world import Lies, World, honest_work

SEATS = 7
LIAR = f"{3:016x}"


@pytest.fixture(autouse=True)
def keys() -> Iterator[None]:
    with hashed_keys():
        yield


def wrong_mean(world: World, client: str, event: Any) -> Any:
    if not isinstance(event, MeanMade):
        return event
    host = world.hosts[client]
    return MeanMade(world.keep(host, host.held[event.digest] + np.float32(0.5)))


def wrong_numbers(_world: World, _client: str, event: Any) -> Any:
    if not isinstance(event, MeansChecked):
        return event
    lengths = [0.9 * one for one in event.lengths]
    return MeansChecked(event.products, lengths, event.own_products, event.own_lengths)


def two_words(world: World, sender: str, to: str, frame: Any) -> list[tuple[float, Any]]:
    said = own(world, sender, frame, "made")
    if said is None or to < LIAR:
        return [(0.0, frame)]
    return [(0.0, said_again(world, sender, said, MadeBody(bytes([1] * 32))))]


@pytest.mark.parametrize(
    ("lies", "kind"),
    [
        (Lies(send=two_words), "two-words"),
        (Lies(event=wrong_mean), "wrong-mean"),
        (Lies(event=wrong_numbers), "wrong-check"),
    ],
)
def test_every_honest_member_can_convict_who_was_removed(lies: Lies, kind: Any) -> None:
    world = World(SEATS, Random(0), {LIAR: lies})
    world.play_round()
    for host in world.honest:
        assert host.removed == {LIAR: kind}
        held = {digest: vector.tobytes() for digest, vector in host.held.items()}
        builder = EvidenceBuilder("digits", "ab" * 32, LIAR, world.identities[LIAR])
        built = builder.removed(kind, host.convicting[LIAR], held.get)
        assert built is not None
        found = check_evidence(built)
        assert (found.kind, found.identity, found.number) == (kind, world.identities[LIAR], 1)


@pytest.mark.parametrize(
    ("lies", "seed", "why"),
    [
        (Lies(work=lambda state, client: -honest_work(state, client)), 2, "target"),
        (Lies(judge=lambda one: replace(one, found="other")), 3, "accuser"),
    ],
)
def test_every_honest_member_can_convict_whom_the_court_banned(lies: Lies, seed: int, why: str) -> None:
    world = World(SEATS, Random(seed), {LIAR: lies})
    for _ in range(60):
        world.play_round()
        world.settle()
        state = world.honest[0].state
        assert state is not None
        if state.membership.banned:
            break
    for host in world.honest:
        found = {one: convicted(world, host.records, one) for one in world.hosts}
        assert [one for one, by in found.items() if by] == [LIAR]
        assert getattr(found[LIAR], why) == LIAR


def convicted(world: World, records: list[Any], client: str) -> Conviction | None:
    builder = EvidenceBuilder("digits", "ab" * 32, client, world.identities[client])
    built = builder.convicted_by_court(records[-8:])
    return check_evidence(built) if built else None
