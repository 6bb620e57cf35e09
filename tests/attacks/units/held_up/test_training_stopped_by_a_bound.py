"""Names that hold leases by heartbeats would stop a task with `bound`: all others wait for the slowest."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest

from backend.protocols.client.household import Household
from backend.protocols.units.rules import PaceRules, Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import Assimilate, Effect, GrantLease, Judge, WorkUnit

BOUND, LEASE, SECONDS, STEP, WORK = 4, 60.0, 7200.0, 5.0, 10.0


@dataclass
class Crowd:
    """Six honest clients that take WORK seconds for a unit, and attackers of one household.

    Each attacker returns `results` like anybody, then holds each lease by heartbeats for `hold` seconds.
    """

    attackers: int
    results: int
    hold: float
    done: int = 0
    now: float = 0.0
    began: dict[str, tuple[int, float]] = field(default_factory=dict)
    returned: dict[str, int] = field(default_factory=dict)

    def play(self) -> int:
        """Returns how many results counted in SECONDS."""
        pace = PaceRules(usual=LEASE, least=30.0, most=4 * LEASE)
        self.scheduler = Scheduler(Rules(bound=BOUND, pace=pace))
        self.scheduler.begin_epoch([WorkUnit(n, n, 64, 1) for n in range(100_000)])
        honest = [f"h{n}" for n in range(6)]
        eves = [f"e{n}" for n in range(self.attackers)]
        for name in (*honest, *eves):
            self.scheduler.client_connected(name, 1, household=Household("eve" if name in eves else name))
        while self.now < SECONDS:
            self.now += STEP
            self.scheduler.time_passed(self.now)
            for number, name in enumerate(eves):
                # The next one begins before the one before has to let go.
                if self.now > number * LEASE / 2:
                    honest_yet = self.returned.get(name, 0) < self.results
                    self._work(name, WORK if honest_yet else self.hold)
            for name in honest:
                self._work(name, WORK)
        return self.done

    def _work(self, name: str, seconds: float) -> None:
        if name in self.began:
            lease, began = self.began[name]
            self._perform(self.scheduler.heartbeat(name, lease, self.now, steps=int(self.now)))
            if self.now - began >= seconds:
                del self.began[name]
                self.returned[name] = self.returned.get(name, 0) + 1
                self._perform(self.scheduler.returned(name, lease, self.now))
        # While its one slot is taken this gets nothing.
        self._perform(self.scheduler.ask(name, 0, 0.99, self.now))

    def _perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case GrantLease():
                    self.began[effect.client] = effect.lease, self.now
                case Judge():
                    verdicts = dict.fromkeys(effect.leases, Verdict.VALID)
                    self._perform(self.scheduler.judged(effect.unit, verdicts))
                case Assimilate():
                    self.done += 1


@pytest.fixture(scope="module")
def alone() -> int:
    """How many results count without attackers."""
    return Crowd(0, 0, 0.0).play()


def test_names_without_a_result_hold_up_nobody(alone: int) -> None:
    assert Crowd(2, 0, math.inf).play() > 0.9 * alone


@pytest.mark.parametrize("attackers", [2, 6])
def test_names_with_a_good_result_hold_up_others_for_a_lease_or_two(alone: int, attackers: int) -> None:
    assert Crowd(attackers, 1, math.inf).play() > 0.8 * alone


def test_names_that_hand_the_slowest_clock_on_slow_others_to_a_unit_in_a_lease_and_no_more() -> None:
    # They return each result in time, and do the work for it: that is what a bound is for.
    assert Crowd(8, 1, 3 * LEASE).play() > 6 * 0.9 * SECONDS / LEASE
