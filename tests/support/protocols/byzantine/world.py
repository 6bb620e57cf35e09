"""Rounds of a Byzantine mesh in virtual time: frames between honest members arrive within DELAY.

Members have real vectors, whose means and products are computed.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from backend.crypto import client_keys
from backend.crypto.statements import NOTHING_BEFORE, Statement, TurnOfRound
from backend.numerics.butterfly.clipped_mean import clipped_mean, distances
from backend.numerics.butterfly.projection import projection_product
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine import round_events as events
from backend.protocols.mesh.byzantine.drawn_work import coin_seed
from backend.protocols.mesh.byzantine.machine import ByzantineRound
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.roles import basis_of, roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_bodies import CommitBody, WorkFinding, encode_body
from backend.wire.byzantine_messages import ByzantineTerms
from tests.support.protocols.byzantine.member_host import Host, Spoken

DELAY = 1.0
TERMS = ByzantineTerms(seconds=10.0, patience=2.5 * DELAY, probation=6, audits=1, radius=1.0)
SIZE = 40


def digest_of(vector: Vector) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(vector).tobytes()).digest()


def bounds(parts: int) -> list[int]:
    return [SIZE * part // parts for part in range(parts + 1)]


def honest_work(state: AgreedState, client: str) -> Vector:
    """Returns the vector that a client's plan gives: near one that all share, as gradients are."""
    common = np.random.default_rng(state.round).normal(size=SIZE)
    own = np.random.default_rng(
        int.from_bytes(hashlib.sha256(state.digest() + client.encode()).digest()[:8], "big")
    )
    vector: Vector = (common + 0.3 * own.normal(size=SIZE)).astype(np.float32)
    return vector


@dataclass
class Lies:
    """What a liar does to its effects; each returns what is sent to whom, or changes what it computes."""

    send: Callable[[World, str, str, Any], list[tuple[float, Any]]] | None = None
    work: Callable[[AgreedState, str], Vector] | None = None
    judge: Callable[[WorkFinding], WorkFinding | None] | None = None
    event: Callable[[World, str, Any], Any] | None = None


TASK, RUN = "digits", "ab" * 32


def newcomers(count: int) -> list[str]:
    """Returns the names of so many newcomers."""
    return [f"{0x100 + number:016x}" for number in range(count)]


class World:
    """A mesh of so many `seats`, and of `entering` newcomers; `lies` says what liars do."""

    def __init__(
        self,
        seats: int,
        random: Random,
        lies: Mapping[str, Lies] | None = None,
        terms: ByzantineTerms = TERMS,
        entering: int = 0,
        machine: type[ByzantineRound] = ByzantineRound,
    ) -> None:
        self._machine = machine
        self.random, self.lies, self.terms = random, lies or {}, terms
        self.now = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        names = [f"{number:016x}" for number in range(seats)]
        self._newcomers = newcomers(entering)
        everybody = [*names, *self._newcomers]
        self.hosts = {name: Host(name, hashlib.sha256(name.encode()).digest()) for name in everybody}
        self.identities = {name: client_keys.identity_key(host.private) for name, host in self.hosts.items()}
        seated = MeshMembership(tuple(SeatedMember(name, self.identities[name]) for name in names))
        first = AgreedState(0, bytes(32), bytes(32), random.randbytes(32), terms.radius or 0.0, seated)
        for host in self.hosts.values():
            host.state = first
        # The vectors of the last rounds, which validators fetch from who made them.
        self.made: dict[tuple[str, int], Vector] = {}
        self.truth: dict[tuple[str, int], Vector] = {}
        self.frames = 0

    @property
    def honest(self) -> list[Host]:
        """The honest members; a newcomer is none before it has a seat."""
        seated = self._seated()
        return [host for name, host in self.hosts.items() if name in seated and name not in self.lies]

    def _seated(self) -> set[str]:
        states = [host.state for host in self.hosts.values() if host.state is not None]
        return {seat.client for state in states for seat in state.membership.seats}

    def at(self, time: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._order), action))

    def sleep(self, name: str, until: float) -> None:
        """Lets a process stand still; what arrives meanwhile waits for it."""
        self.hosts[name].paused_until = until

    def play_round(self) -> None:
        """Plays one round of all who know the newest state and have a seat."""
        newest = max(
            (host.state for host in self.hosts.values() if host.state), key=lambda state: state.round
        )
        for host in self.hosts.values():
            host.machine = host.result = host.failure = None
            host.held.clear()
            host.removed.clear()
            host.convicting.clear()
            host.waiting.clear()
            host.later.clear()
            host.known.clear()
            if host.state == newest and host.client in newest.membership.present(newest.round + 1):
                self.at(self.now + self.random.uniform(0.0, DELAY), partial(self._start, host))
            elif host.client in self._newcomers and host.client not in self._seated():
                self.at(self.now + self.random.uniform(0.0, DELAY), partial(self._enter, host))
        end = self.now + 600.0
        while self._queue and self._queue[0][0] < end:
            self.now, _, action = heapq.heappop(self._queue)
            action()
        self._queue.clear()

    def _enter(self, host: Host) -> None:
        """Lets a newcomer work, and commit to its work in the first turn."""
        state = host.state
        assert state is not None
        roles = roles_of(state, self.terms.validators)
        basis = basis_of(state, (state.round + 1, 1), roles.active)
        turn = TurnOfRound(TASK, RUN, state.round + 1, 1, basis)
        body = CommitBody(self._work(host, state, len(roles.workers)), self.random.randbytes(32))
        statement = Statement(self.identities[host.client], "commit", NOTHING_BEFORE, encode_body(body))
        self._to_all(host, host.says(turn, statement))

    def _work(self, host: Host, state: AgreedState, parts: int) -> list[bytes]:
        """Returns the digests of the pieces of a member's work in the round after `state`."""
        lies = self.lies.get(host.client)
        made = (lies.work if lies and lies.work else honest_work)(state, host.client)
        self.made[host.client, state.round + 1] = made
        self.truth[host.client, state.round + 1] = honest_work(state, host.client)
        return [self.keep(host, made[start:end]) for start, end in itertools.pairwise(bounds(parts))]

    def _start(self, host: Host) -> None:
        assert host.state is not None
        machine = self._machine(
            TASK,
            RUN,
            self.terms,
            host.state,
            (host.state.round + 1, 1),
            host.client,
            self.identities,
            bounds,
            self.now,
            lambda: (self.random.randbytes(32), self.random.randbytes(32)),
        )
        host.machine = machine
        self.give(host, events.RoundTimePassed())
        for judgement in self._judgements(host):
            self.give(host, events.WorkJudged(judgement))
        waiting, host.waiting = host.waiting, []
        for event in waiting:
            self.give(host, event)

    def _judgements(self, host: Host) -> list[WorkFinding]:
        state = host.state
        assert state is not None
        cases = list(state.court)
        audits = roles_of(state, self.terms.validators).audits
        found = [WorkFinding(case.target, case.round, self._judge(case.target, case.round)) for case in cases]
        if host.client in audits:
            case = audits[host.client]
            # Sometimes one member cannot reach what the others can.
            cut_off = self.random.random() < 0.1
            shown: Any = "missing" if cut_off else self._judge(case.target, case.round)
            found.append(WorkFinding(case.target, case.round, shown))
        judge = self.lies[host.client].judge if host.client in self.lies else None
        return [one for old in found if (one := judge(old) if judge else old) is not None]

    def _judge(self, target: str, number: int) -> Any:
        made = self.made.get((target, number))
        if made is None:
            return "missing"
        return "same" if np.array_equal(made, self.truth[target, number]) else "other"

    def _perform(self, host: Host, effects: list[Any]) -> None:
        for effect in effects:
            self._do(host, effect)
        self._wake(host)

    def _wake(self, host: Host) -> None:
        machine = host.machine
        due = machine.timer() if machine else None
        if machine and due is not None:
            self.at(max(due, self.now), partial(self._tick, host, machine, due))

    def _tick(self, host: Host, machine: ByzantineRound, due: float) -> None:
        if host.machine is machine and machine.timer() == due:
            self.give(host, events.RoundTimePassed())

    def give(self, host: Host, event: Any) -> None:
        """Gives a host's machine an event, later if it is paused."""
        if host.machine is None:
            host.waiting.append(event)
            return
        if self.now < host.paused_until:
            self.at(host.paused_until, partial(self.give, host, event))
            return
        if isinstance(event, Spoken):
            event = host.checked(event)
        lies = self.lies.get(host.client)
        if event is not None and lies and lies.event:
            event = lies.event(self, host.client, event)
        if event is None:
            return
        turn = host.turn
        self._perform(host, host.machine.happened(event, self.now))
        if host.turn != turn:
            later, host.later = host.later, []
            for spoken in later:
                self.give(host, spoken)

    def _soon(self, host: Host, event: Any) -> None:
        self.at(self.now + self.random.uniform(0.0, 0.1), partial(self.give, host, event))

    def _do(self, host: Host, effect: Any) -> None:
        state = host.state
        assert state is not None
        match effect:
            case events.TurnBegins(_, parts, works):
                assert host.machine is not None
                host.active = host.machine.turn.roles.active
                pieces = self._work(host, state, parts) if works else []
                self.at(
                    self.now + self.random.uniform(0.0, 3.0),
                    partial(self.give, host, events.WorkReady(pieces)),
                )
            case events.SayToAll(statement, turn):
                self._to_all(host, host.says(turn, statement))
            case events.PassOn(statement, turn):
                self._to_all(host, host.passes_on(turn, statement))
            case events.SendBytes(digest, clients):
                for other in clients:
                    self.send(host.client, other, (digest, host.held[digest]))
            case events.MakeMean(_, digests, radius):
                mean = clipped_mean(np.stack([host.held[one] for one in digests]), radius or 1.0).mean
                self._soon(host, events.MeanMade(self.keep(host, mean)))
            case events.CheckMeans():
                self._soon(host, self._checked(host, effect))
            case events.RemakeMean(part, digests, radius, coin):
                stacked = np.stack([host.held[one] for one in digests])
                mean = clipped_mean(stacked, radius or 1.0).mean
                self._soon(
                    host,
                    events.MeanRemade(
                        part, digest_of(mean), *self._numbers(stacked, mean, radius, coin, part)
                    ),
                )
            case events.TakeOuterStep(means):
                weights = hashlib.sha256(state.weights + b"".join(means)).digest()
                self._soon(host, events.OuterStepped(weights, bytes(32)))
            case events.RemoveClient(client, why, statements, turn):
                host.convicting[client] = host.signed(turn, statements)
                host.removed[client] = why
            case events.FinishRound(agreed):
                host.result = agreed
                assert host.machine is not None
                said = host.machine.turn.log.statements()
                kept = [one for one in said if one.phase in ("commit", "verdict")]
                host.records.append(host.signed(host.turn, kept))
            case events.AdoptState(digest):
                host.result = digest
            case events.FailRound(reason):
                host.failure = reason

    def keep(self, host: Host, vector: Vector) -> bytes:
        digest = digest_of(vector)
        host.held[digest] = vector
        return digest

    def _numbers(
        self, pieces: Vector, mean: Vector, radius: float, coin: bytes, part: int
    ) -> tuple[list[float], list[float]]:
        products = [projection_product(piece, mean, radius or 1.0, coin_seed(coin), part) for piece in pieces]
        return products, distances(pieces, mean)

    def _checked(self, host: Host, effect: events.CheckMeans) -> events.MeansChecked:
        assert host.machine is not None
        machine = host.machine
        workers, pieces = machine.turn.roles.workers, machine.turn.statements.pieces()
        own = workers.index(host.client)
        products, lengths = list[float](), list[float]()
        for part, digest in enumerate(effect.means):
            mean, piece = host.held[digest], host.held[pieces[host.client][part]]
            product, length = self._numbers(
                np.stack([piece]), mean, machine.turn.part_radius(part), effect.coin, part
            )
            products += product
            lengths += length
        mine = np.stack([host.held[pieces[worker][own]] for worker in workers])
        mean = host.held[effect.means[own]]
        return events.MeansChecked(
            products, lengths, *self._numbers(mine, mean, machine.turn.part_radius(own), effect.coin, own)
        )

    def _to_all(self, host: Host, spoken: Spoken) -> None:
        for other in self.hosts:
            if other != host.client:
                self.send(host.client, other, spoken)

    def send(self, sender: str, to: str, frame: Any) -> None:
        """Sends a frame as the sender likes: an honest one at once, with a delay of the network."""
        lies = self.lies.get(sender)
        sent = lies.send(self, sender, to, frame) if lies and lies.send else [(0.0, frame)]
        for wait, one in sent:
            self.frames += 1
            arrives = self.now + wait + self.random.uniform(0.02, DELAY)
            self.at(arrives, partial(self._arrive, to, one))

    def _arrive(self, to: str, frame: Any) -> None:
        host = self.hosts[to]
        if isinstance(frame, tuple):
            digest, vector = frame
            if digest_of(vector) != digest:
                return
            host.held[digest] = vector
            frame = events.BytesReceived(digest)
        self.give(host, frame)

    def settle(self) -> None:
        """Gives all hosts the state that honest members came to."""
        states = [host.result for host in self.honest if isinstance(host.result, AgreedState)]
        if states:
            for host in self.hosts.values():
                host.state = states[0]
