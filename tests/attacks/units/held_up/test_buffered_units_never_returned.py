"""Clients that say they work offline, take as many units as they get, and never return one."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import pytest

from backend.protocols.client.household import Household
from backend.protocols.units.rules import PaceRules, Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, Effect, GrantLease, Judge, Wait, WorkUnit

HONEST, UNITS, WORK, LEASE, OFFLINE = 6, 60, 10.0, 60.0, 3600.0
PACE = PaceRules(usual=LEASE, least=30.0, most=4 * LEASE, offline=OFFLINE)


@dataclass
class Hoard:
    """Honest clients that take WORK seconds for a unit, and hoarders with homes of their own.

    A hoarder returns `results` first, and claims `pace` seconds per example. With `accomplices` it then stays
    online, to take the copies of other hoarders' units, too.
    """

    hoarders: int
    results: int = 0
    pace: float | None = None
    replicas: int = 1
    accomplices: bool = False
    now: float = 0.0
    done: set[int] = field(default_factory=set)
    due: list[tuple[float, str, int]] = field(default_factory=list)
    returned: dict[str, int] = field(default_factory=dict)

    def play(self) -> float:
        """Returns how many seconds the epoch took."""
        self.scheduler = Scheduler(Rules(replicas=self.replicas, pace=PACE))
        self.scheduler.begin_epoch([WorkUnit(n, n, 64, 1) for n in range(UNITS)])
        eves = [f"e{n}" for n in range(self.hoarders)]
        names = [*eves, *(f"h{n}" for n in range(HONEST))]
        for name in names:
            said = self.pace if name in eves else None
            self.scheduler.client_connected(name, 1, pace=said, household=Household(name))
        while len(self.done) < UNITS and self.now < 3 * OFFLINE:
            for name in names:
                if name in eves and self.returned.get(name, 0) >= self.results:
                    is_online = self.accomplices and self.now > WORK
                    self.scheduler.set_slots(name, 64, offline=0.0 if is_online else OFFLINE)
                while any(isinstance(one, GrantLease) for one in self._ask(name)):
                    pass
            self.now += 1.0
            self.scheduler.time_passed(self.now)
            while self.due and self.due[0][0] <= self.now:
                _, name, lease = heapq.heappop(self.due)
                self.returned[name] = self.returned.get(name, 0) + 1
                self._perform(self.scheduler.returned(name, lease, self.now))
        return self.now

    def _ask(self, name: str) -> list[Effect]:
        effects = self.scheduler.ask(name, 0, 0.99, self.now)
        self._perform(effects)
        return effects

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case GrantLease(client=name):
                    if name.startswith("h") or self.returned.get(name, 0) < self.results:
                        heapq.heappush(self.due, (self.now + WORK, name, effect.lease))
                case Judge():
                    verdicts = dict.fromkeys(effect.leases, Verdict.VALID)
                    self._perform(self.scheduler.judged(effect.unit, verdicts))
                case Assimilate():
                    self.done.add(effect.unit)
                case Wait():
                    pass


@pytest.mark.parametrize(("results", "pace"), [(0, None), (0, 1e4), (3, None)])
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("accomplices", [False, True])
def test_as_many_hoarders_as_honest_clients_do_not_make_an_epoch_wait(
    results: int, pace: float | None, replicas: int, accomplices: bool
) -> None:
    alone = Hoard(0, replicas=replicas).play()
    attacked = Hoard(HONEST, results, pace, replicas, accomplices).play()
    assert attacked < 2 * alone + 2 * LEASE
