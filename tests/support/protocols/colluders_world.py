"""Plays epochs among honest clients and colluders, who know of one another and agree on the same lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from backend.protocols.client.household import Household
from backend.protocols.units import trust
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler_effects import GrantLease, Judge
from backend.server.units.newcomers import NewcomerLimits
from tests.support.protocols.units_world import EXAMPLES, Crowd, Seen, World

# How colluders choose the results in which they lie: in all; in those that count without a comparison, once
# PATIENCE results held; where one of them has the unit, too; where the first result came from somebody else;
# under new names, as many as each household may bring, while the tokens only confirm; in the last units of
# the last epoch; in a share SELDOM of those that nobody else has.
Tactic = Literal["blatant", "sleepers", "pairs", "framers", "names", "finale", "seldom"]
# They send made-up results after so many seconds, ask for work so often, and take as many units at a time.
LIE_SECONDS, ASK_SECONDS, LIE_SLOTS = 1.0, 5.0, 64
# From this time on, when the tokens are vouched for, each household brings so many new names an hour.
NAMES_FROM, NAMES_AN_HOUR = 400.0, 20
# The finale is so large a share of the last epoch's units.
FINALE, SELDOM = 0.1, 0.01


@dataclass(frozen=True)
class Collusion:
    """`tokens` colluders, all in one household or each in one of its own.

    Sleepers behave until `patience` of their results held. `kind` is what they say that they compute with.
    """

    tokens: int
    one_household: bool
    tactic: Tactic
    patience: int = 0
    kind: str = "peer native"


class ColludersWorld(World):
    """A world in which the colluders play beside the crowd, each honest client in a household of its own."""

    def __init__(
        self, seed: int, crowd: Crowd, collusion: Collusion, rules: Rules, units: int, epochs: int
    ) -> None:
        super().__init__(seed, crowd, rules, units, epochs)
        self.collusion = collusion
        self.colluders = {f"x{n}" for n in range(collusion.tokens)}
        self.names = [*self.names, *sorted(self.colluders)]
        self.tokens = sorted(self.colluders)
        self._newcomers = NewcomerLimits(NAMES_AN_HOUR)
        self._household_of: dict[str, Household] = {}
        self._of_unit: dict[int, list[GrantLease]] = {}

    def play(self, restart_at: int | None = None) -> Seen:
        """Plays all epochs; where the tactic is "names", households bring new ones."""
        if self.collusion.tactic == "names":
            for token in self.tokens:
                self._later(NAMES_FROM, "ask", f"+{token}")
        return super().play(restart_at)

    def household_of(self, token: str) -> Household:
        """Returns the household of a token."""
        return Household("x" if self.collusion.one_household else token)

    def _come(self, name: str) -> None:
        if name in self.peers:
            self._paces[name] = self.crowd.seconds / EXAMPLES
            self.scheduler.client_connected(name, 3, kind="peer native", trusted=True)
            return
        if name not in self.colluders:
            super()._come(name)
            return
        household = self.household_of(name)
        self.scheduler.client_connected(name, LIE_SLOTS, kind=self.collusion.kind, household=household)

    def _ask(self, name: str) -> None:
        if name.startswith("+"):
            self._bring_name(name[1:])
            return
        if name not in self.colluders:
            super()._ask(name)
            return
        if name in self._household_of and self.scheduler.client(name).trust.faults:
            self.scheduler.client_disconnected(name)
            return
        while any(isinstance(effect, GrantLease) for effect in self._asked(name)):
            pass
        self._later(ASK_SECONDS, "ask", name)

    def _bring_name(self, token: str) -> None:
        """Brings a new name from the token's household, if that may bring one now."""
        household = self.household_of(token)
        suspended = self.scheduler.is_suspended(household, self.now)
        if self._newcomers.admit(household.network, suspended, self.now):
            name = f"x{len(self.colluders)}"
            self.colluders.add(name)
            self._household_of[name] = household
            self._paces[name] = self._paces[token]
            self.scheduler.client_connected(name, LIE_SLOTS, kind=self.collusion.kind, household=household)
            self._later(ASK_SECONDS, "ask", name)
        self._later(ASK_SECONDS, "ask", f"+{token}")

    def _train(self, grant: GrantLease) -> None:
        self._of_unit.setdefault(grant.unit, []).append(grant)
        if grant.client in self.peers:
            # The owner's peer stays, and does what it is asked for.
            self.grants[grant.lease] = grant
            self._later(grant.examples * self._paces[grant.client], "return", grant.client, grant.lease)
            return
        if grant.client not in self.colluders:
            super()._train(grant)
            return
        self.grants[grant.lease] = grant
        if self._lies(grant):
            self._later(LIE_SECONDS, "return", grant.client, grant.lease)
            self.seen.lied.add(grant.lease)
            return
        seconds = grant.examples * self._paces[grant.client] * self.dice.lognormvariate(0.0, 0.2)
        self._later(seconds, "return", grant.client, grant.lease)

    def _lies(self, grant: GrantLease) -> bool:
        others = [one for one in self._of_unit[grant.unit] if one.client != grant.client]
        lied = any(one.lease in self.seen.lied for one in others)
        level, rules = self.scheduler.client(grant.client).trust, self.rules.trust
        match self.collusion.tactic:
            case "blatant":
                return True
            case "sleepers":
                if others or level.faults:
                    return lied
                return trust.is_proven(level, rules) and level.streak >= self.collusion.patience
            case "pairs":
                return lied or any(one.client in self.colluders for one in others)
            case "framers":
                return bool(others)
            case "finale":
                last = len(self.seen.closed) == self.epochs - 1
                return lied or (last and self.scheduler.remaining <= FINALE * self.units)
            case "seldom":
                return lied or (not others and self.dice.random() < SELDOM)
            case "names":
                return lied or (grant.client in self._household_of and not others)

    def _verdicts(self, judge: Judge) -> dict[int, Verdict]:
        lies = [one for one in judge.leases if one in self.seen.lied]
        honest = [one for one in judge.leases if one not in self.seen.lied]
        if judge.valid is not None:
            same = lies if judge.valid in self.seen.lied else honest
        elif len(judge.leases) == 1:
            return {judge.leases[0]: Verdict.VALID}
        else:
            same = max(lies, honest, key=len)
            if len(same) <= max(1, len(judge.leases) / 2):
                return dict.fromkeys(judge.leases, Verdict.UNDECIDED)
        return {one: Verdict.VALID if one in same else Verdict.INVALID for one in judge.leases}
