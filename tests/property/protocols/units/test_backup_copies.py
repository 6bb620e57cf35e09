"""Copies of the last units of an epoch: late clients hardly lengthen it, and each row still counts once."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.protocols.units.records import LeaseState
from backend.protocols.units.rules import PaceRules, Rules
from backend.protocols.units.scheduler_effects import Effect, EpochClosed, GrantLease
from tests.property.protocols.units.test_schedules import check
from tests.support.protocols.units_world import EXAMPLES, Crowd, World

LEASE = 60.0
EPOCHS, CLIENTS = 3, 8
# One unit at a time, of 12 s in the median, and nobody vanishes.
STEADY = Crowd(CLIENTS, slots=1, pause=1.0, spread=0.2, cheats=0.0, vanishing=0.0, late=0.0, stopped=0.0)


class LateWorld(World):
    """A world in which the first `late` clients need `factor` times each lease that they get."""

    def __init__(self, seed: int, replicas: int, late: int, factor: float) -> None:
        rules = Rules(replicas=replicas, pace=PaceRules(usual=LEASE, least=5.0, most=600.0))
        super().__init__(seed, STEADY, rules, units=40, epochs=EPOCHS)
        self.late, self.factor = set(self.names[:late]), factor
        self.began = [0.0]

    def _perform(self, effects: list[Effect]) -> None:
        super()._perform(effects)
        self.began += [self.now for effect in effects if isinstance(effect, EpochClosed)]

    def _train(self, grant: GrantLease) -> None:
        if grant.client in self.late:
            seconds = self.factor * (grant.deadline - self.now)
        else:
            seconds = grant.examples * self._paces[grant.client] * self.dice.lognormvariate(0.0, 0.1)
            self._later(seconds / 2, "heartbeat", grant.client, grant.lease)
        self._later(seconds, "return", grant.client, grant.lease)

    def epochs_in_leases(self) -> list[float]:
        """Plays, and returns how long each epoch took, in leases of a new client."""
        check(self, self.play())
        return [(end - begin) / LEASE for begin, end in zip(self.began, self.began[1:], strict=False)]


def mean_epoch(replicas: int, late: int, factor: float) -> float:
    """The mean of the epochs' lengths over a few worlds, in leases."""
    worlds = [LateWorld(seed, replicas, late, factor) for seed in range(3)]
    return statistics.mean(length for world in worlds for length in world.epochs_in_leases())


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("factor", [1.2, 3.0, 1e6])
def test_one_of_eight_clients_that_is_always_late_costs_less_than_half_a_lease(
    replicas: int, factor: float
) -> None:
    """Without copies it is several: its leases grow as it is late, up to seven of a new client's."""
    assert mean_epoch(replicas, 1, factor) < mean_epoch(replicas, 0, factor) + 0.5


class CopiesWorld(World):
    """A world that counts the copies, and checks of each lease that it may be one."""

    copies = 0

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, GrantLease):
                unit = self.scheduler.unit(effect.unit)
                out = [lease for lease in unit.leases if lease.state is LeaseState.LEASED]
                assert len(out) <= 2
                had = [lease.client for lease in unit.leases if lease.state is not LeaseState.RELEASED]
                assert len(set(had)) == len(had)
                self.copies += len(out) == 2
        super()._perform(effects)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    clients=st.integers(5, 12),
    replicas=st.sampled_from([1, 2]),
    peers=st.integers(0, 1),
    late=st.sampled_from([0.1, 0.4]),
    units=st.integers(3, 12),
    restart=st.one_of(st.none(), st.integers(1, 20)),
)
def test_copies_keep_rows_credit_and_replicas_over_restarts(
    seed: int, clients: int, replicas: int, peers: int, late: float, units: int, restart: int | None
) -> None:
    crowd = Crowd(clients, peers, pause=2.0, cheats=0.0, vanishing=0.0, late=late, stopped=0.1)
    rules = Rules(replicas=replicas, most_leases=40, pace=PaceRules(usual=LEASE, least=5.0, most=600.0))
    world = CopiesWorld(seed, crowd, rules, units, EPOCHS)
    seen = world.play(restart_at=restart)
    check(world, seen)
    assert [closed.epoch for closed in seen.closed] == [1, 2, 3]
    blended = Counter(row for work in seen.blended.values() for row in [(work.shard, work.first_step)])
    assert not seen.given_up
    assert sum(work.counted_rows for work in seen.blended.values()) == EPOCHS * units * EXAMPLES
    assert blended


def test_copies_are_rare_where_nobody_is_late() -> None:
    worlds = [CopiesWorld(seed, STEADY, LateWorld(0, 1, 0, 1.0).rules, 40, EPOCHS) for seed in range(3)]
    for world in worlds:
        world.play()
    assert sum(world.copies for world in worlds) < 0.01 * 6 * EPOCHS * 40
