"""Attack: members let names of theirs pass that never worked, or keep out newcomers that worked truly."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from backend.wire.byzantine_bodies import WorkFinding
from tests.support.protocols.byzantine.world import TERMS, Lies, World, honest_work, newcomers

SEATS, FELLOWS = 8, 3
TERMS_OF_FIVE = replace(TERMS, audits=5, probation=6)
LONGER = replace(TERMS_OF_FIVE, probation=25)
LIARS = [f"{number:016x}" for number in range(FELLOWS)]


def membership(world: World) -> tuple[set[str], set[str]]:
    """The clients with a seat in the newest state, and those that are banned."""
    found = max((host.state for host in world.honest if host.state), key=lambda state: state.round).membership
    banned = {client for client, identity in world.identities.items() if identity in found.banned}
    return {seat.client for seat in found.seats}, banned


def test_fellow_validators_alone_cannot_seat_a_name_that_never_worked() -> None:
    (name,) = newcomers(1)
    passing = Lies(
        judge=lambda finding: replace(finding, found="same") if finding.target == name else finding
    )
    idle = Lies(work=lambda state, client: -honest_work(state, client))
    world = World(SEATS, Random(1), {**dict.fromkeys(LIARS, passing), name: idle}, TERMS_OF_FIVE, entering=1)
    for _ in range(60):
        world.play_round()
        world.settle()
        assert name not in membership(world)[0]
    # Whom another validator contradicted, all judged: the liars among the validators are banned, nobody else.
    assert membership(world)[1] == set(LIARS)


def test_one_false_word_keeps_no_newcomer_out_and_costs_its_seat() -> None:
    (name,) = newcomers(1)

    def accuse(finding: WorkFinding) -> WorkFinding:
        return replace(finding, found="other") if finding.target == name else finding

    world = World(SEATS, Random(2), {LIARS[0]: Lies(judge=accuse)}, LONGER, entering=1)
    for _ in range(50):
        world.play_round()
        world.settle()
    seats, banned = membership(world)
    assert name in seats
    assert banned == {LIARS[0]}
