"""Plays whole epochs on virtual time, with clients that are slow, vanish, cheat and repeat messages."""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from backend.numerics.walk import Walk
from backend.protocols.units import trust
from backend.protocols.units.records import LeaseState, PartialWork
from backend.protocols.units.rules import Rules, Verdict
from backend.protocols.units.scheduler import Scheduler
from backend.protocols.units.scheduler_effects import (
    Assimilate,
    CreditClient,
    DistrustClient,
    Effect,
    EpochClosed,
    GivenUp,
    GrantLease,
    Judge,
    KeepResults,
    SplitUnit,
    TakeOutResults,
    WorkUnit,
)
from backend.protocols.units.scheduler_snapshot import Snapshot

EXAMPLES, BATCH = 64, 8
KINDS = ("browser wasm", "browser webgl", "browser webgpu", "peer native")


@dataclass(frozen=True)
class Crowd:
    """The shares of clients and the probabilities of a lease's fate.

    Clients take `seconds` for a unit in the median, by a log-normal distribution of width `spread`. A share
    `cheats` of them lies with probability `lies` after `patience` honest units; a lie without comparison is
    noticed as odd with probability `odd`.
    """

    clients: int
    peers: int = 0
    slots: int = 3
    pause: float = 5.0
    seconds: float = 12.0
    spread: float = 0.8
    cheats: float = 0.1
    patience: int = 0
    lies: float = 0.5
    odd: float = 1.0
    vanishing: float = 0.1
    late: float = 0.1
    stopped: float = 0.02


@dataclass
class Seen:
    """The counts of events.

    `hazard` sums, over all lies, the probability that another client did the same unit. `provisional` are the
    leases whose results are in the model unproven, by client; `taken_out` counts honest results taken out
    again, `lies_taken_out` lies.
    """

    grants: int = 0
    blended: dict[int, WorkUnit] = field(default_factory=dict)
    credited: Counter[int] = field(default_factory=Counter)
    distrusted: Counter[str] = field(default_factory=Counter)
    holders: dict[int, list[str]] = field(default_factory=dict)
    lied: set[int] = field(default_factory=set)
    lies_blended: int = 0
    hazard: float = 0.0
    provisional: dict[str, list[int]] = field(default_factory=dict)
    taken_out: int = 0
    lies_taken_out: int = 0
    audits: int = 0
    given_up: list[WorkUnit] = field(default_factory=list)
    closed: list[EpochClosed] = field(default_factory=list)


class World:
    """Plays a seeded schedule of `epochs` of `units` shards against a scheduler."""

    def __init__(self, seed: int, crowd: Crowd, rules: Rules, units: int, epochs: int = 1) -> None:
        self.crowd, self.rules, self.units, self.epochs = crowd, rules, units, epochs
        self.dice, self.scheduler, self.seen = random.Random(seed), Scheduler(rules), Seen()
        self.now = 0.0
        self.names = [f"c{n}" for n in range(crowd.clients)]
        self.peers = {f"p{n}" for n in range(crowd.peers)}
        self.cheats = set(self.names[: round(crowd.cheats * crowd.clients)])
        self.grants: dict[int, GrantLease] = {}
        self._done: Counter[str] = Counter()
        self._paces: dict[str, float] = {}
        self._events: list[tuple[float, int, str, str, int]] = []
        self._numbers = 0

    def play(self, restart_at: int | None = None) -> Seen:
        """Plays all epochs; the server restarts once after so many blended units."""
        for name in (*self.names, *sorted(self.peers)):
            seconds = self.dice.lognormvariate(math.log(self.crowd.seconds), self.crowd.spread)
            self._paces[name] = seconds / EXAMPLES
            self._come(name)
            self._later(self.dice.random(), "ask", name)
        for epoch in range(self.epochs):
            first, seeds = self.scheduler.next_unit, self.dice.getrandbits
            works = [WorkUnit(first + n, n, EXAMPLES, seeds(32)) for n in range(self.units)]
            self._perform(self.scheduler.begin_epoch(works))
            while len(self.seen.closed) <= epoch:
                self._step()
                if restart_at is not None and len(self.seen.blended) >= restart_at:
                    restart_at = None
                    self._restart()
        self.scheduler.begin_audits()
        while self.scheduler.audits:
            self._step()
        return self.seen

    def _come(self, name: str) -> None:
        kind, is_peer = KINDS[hash_of(name) % len(KINDS)], name in self.peers
        slots = 1 + hash_of(name) % self.crowd.slots
        self.scheduler.client_connected(name, slots, kind=kind, pace=self._paces[name], trusted=is_peer)

    def _restart(self) -> None:
        """Restarts the server from its snapshot; a client that had a unit may get it again."""
        self.seen.holders.clear()
        kept = msgspec.json.encode(self.scheduler.snapshot())
        snapshot = msgspec.json.decode(kept, type=Snapshot)
        self.scheduler = Scheduler.restored(self.rules, snapshot)
        for name in self._paces:
            self._come(name)

    def _later(self, seconds: float, what: str, client: str, lease: int = -1) -> None:
        self._numbers += 1
        heapq.heappush(self._events, (self.now + seconds, self._numbers, what, client, lease))

    def _step(self) -> None:
        due = self.scheduler.timer()
        if due is not None and due <= self._events[0][0]:
            self.now = max(self.now, due)
            self._perform(self.scheduler.time_passed(self.now))
            return
        self.now, _, what, client, lease = heapq.heappop(self._events)
        match what:
            case "ask":
                self._ask(client)
            case "return":
                self._perform(self.scheduler.returned(client, lease, self.now))
                # An answer was lost, so the client repeats its message.
                if self.dice.random() < 0.05:
                    self._perform(self.scheduler.returned(client, lease, self.now))
            case "part":
                part = part_of(self.grants[lease], self.dice)
                self._perform(self.scheduler.returned(client, lease, self.now, part))
                self._forget_released(client, lease)
            case "heartbeat":
                self._perform(self.scheduler.heartbeat(client, lease, self.now, steps=1))
            case "release":
                self._perform(self.scheduler.released(client, lease))
                self._forget_released(client, lease)
            case "back":
                self._come(client)

    def _forget_released(self, client: str, lease: int) -> None:
        """A client may get again what it gave back."""
        unit = self.grants[lease].unit
        leases = (
            [one for one in self.scheduler.unit(unit).leases if one.id == lease] if self._has(unit) else []
        )
        if leases and leases[0].state is LeaseState.RELEASED and client in self.seen.holders.get(unit, []):
            self.seen.holders[unit].remove(client)

    def _has(self, unit: int) -> bool:
        return any(one.work.unit == unit for one in self.scheduler.units())

    def _ask(self, name: str) -> None:
        self._asked(name)
        self._later(self.dice.expovariate(1 / self.crowd.pause), "ask", name)

    def _asked(self, name: str) -> list[Effect]:
        effects = self.scheduler.ask(name, 1, self.dice.random(), self.now)
        self._perform(effects)
        return effects

    def _perform(self, effects: list[Effect]) -> None:
        seen = self.seen
        for effect in effects:
            match effect:
                case GrantLease():
                    seen.grants += 1
                    seen.holders.setdefault(effect.unit, []).append(effect.client)
                    self._train(effect)
                case Judge(audited=int(audited)):
                    seen.audits += 1
                    differ = audited in seen.lied
                    verdict = Verdict.INVALID if differ else Verdict.VALID
                    self._perform(self.scheduler.judged(effect.unit, {effect.leases[0]: verdict}))
                case Judge():
                    self._perform(self.scheduler.judged(effect.unit, self._verdicts(effect)))
                case TakeOutResults():
                    taken_out = seen.provisional.pop(effect.client, [])
                    lies = len(seen.lied.intersection(taken_out))
                    seen.lies_blended -= lies
                    seen.lies_taken_out += lies
                    seen.taken_out += len(taken_out) - lies
                case KeepResults():
                    seen.provisional.pop(effect.client)
                case Assimilate():
                    assert effect.unit not in seen.blended
                    seen.blended[effect.unit] = self.scheduler.unit(effect.unit).done_work
                    seen.lies_blended += effect.lease in seen.lied
                    if effect.provisional:
                        seen.provisional.setdefault(effect.client, []).append(effect.lease)
                case CreditClient():
                    seen.credited[effect.lease] += 1
                case DistrustClient():
                    seen.distrusted[effect.client] += 1
                case GivenUp():
                    seen.given_up.append(self.scheduler.unit(effect.unit).work)
                case EpochClosed():
                    seen.closed.append(effect)
                case SplitUnit():
                    pieces = sorted((piece.first, piece.examples) for piece in effect.parts)
                    assert all(piece.shard == effect.parts[0].shard for piece in effect.parts)
                    assert sum(examples for _, examples in pieces) > pieces[0][1]
                case _:
                    pass

    def _train(self, grant: GrantLease) -> None:
        """Schedules what becomes of the lease."""
        crowd, name = self.crowd, grant.client
        self.grants[grant.lease] = grant
        fate = self.dice.random()
        seconds = grant.examples * self._paces[name] * self.dice.lognormvariate(0.0, 0.2)
        self._done[name] += 1
        if name in self.cheats and self._done[name] > crowd.patience and self.dice.random() < crowd.lies:
            self.seen.lied.add(grant.lease)
        if fate < crowd.vanishing:
            self.scheduler.client_disconnected(name)
            self._later(300.0 * self.dice.random(), "back", name)
        elif fate < crowd.vanishing + crowd.late:
            self._later(60.0 + 10 * seconds, "return", name, grant.lease)
        elif fate < crowd.vanishing + crowd.late + crowd.stopped:
            self._later(seconds / 2, self.dice.choice(["release", "part"]), name, grant.lease)
        else:
            self._later(seconds / 2, "heartbeat", name, grant.lease)
            self._later(seconds, "return", name, grant.lease)
        if grant.lease in self.seen.lied:
            self._count_hazard(grant)

    def _count_hazard(self, grant: GrantLease) -> None:
        level, rules = self.scheduler.client(grant.client).trust, self.rules.trust
        compared = trust.replication(level, rules)
        self.seen.hazard += min(1.0, compared + (rules.spot_checks if self.peers else 0.0))

    def _verdicts(self, judge: Judge) -> dict[int, Verdict]:
        """Returns verdicts as a comparison finds them.

        A result is rejected if it differs from most others, or from one that counts as true.
        """
        lied = self.seen.lied
        if judge.valid is not None:
            same = {one for one in judge.leases if one not in lied and judge.valid not in lied}
            return {
                one: Verdict.VALID if one in same or one == judge.valid else Verdict.INVALID
                for one in judge.leases
            }
        honest = [lease for lease in judge.leases if lease not in lied]
        if len(judge.leases) == 1:
            odd = not honest and self.dice.random() < self.crowd.odd
            return {judge.leases[0]: Verdict.UNDECIDED if odd else Verdict.VALID}
        if len(honest) <= max(1, len(judge.leases) / 2):
            return dict.fromkeys(judge.leases, Verdict.UNDECIDED)
        return {one: Verdict.VALID if one in honest else Verdict.INVALID for one in judge.leases}


def part_of(grant: GrantLease, dice: random.Random) -> PartialWork | None:
    """Returns what a client has done of a lease when it stops after some step; None after the last one."""
    all_steps = grant.steps or math.ceil(grant.examples / BATCH) - grant.first_step
    steps = dice.randint(1, all_steps)
    before, after = (
        min(step * BATCH, grant.examples) for step in (grant.first_step, grant.first_step + steps)
    )
    return None if steps == all_steps else PartialWork(steps, after - before)


def rows_of(work: WorkUnit) -> list[int]:
    """Returns the rows of its shard that a training on a unit, or on a part of one, visits."""
    walk = Walk(work.seed, 1, work.steps, BATCH, work.first_step)
    return [work.first + int(row) for rows in walk.batches(work.examples) for row in rows]


def hash_of(name: str) -> int:
    """Returns a hash that is the same in every process."""
    return sum(name.encode()) * 31 + int(name[1:])
