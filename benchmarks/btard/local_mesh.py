"""A Byzantine mesh in one process: real machines and real work; statements arrive at once, in virtual time.

Statements are not signed: the mesh knows who spoke. Time passes only where nobody has anything to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from random import Random
from typing import TypeAlias

import numpy as np

from backend.crypto.statements import NOTHING_BEFORE, Statement, coin_commitment
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine import round_events as events
from backend.protocols.mesh.byzantine.machine import ByzantineRound
from backend.protocols.mesh.byzantine.membership import MeshMembership, SeatedMember
from backend.protocols.mesh.byzantine.roles import roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import PHASES, TurnPhase
from backend.wire.byzantine_bodies import CommitBody, encode_body
from backend.wire.byzantine_messages import ByzantineTerms
from benchmarks.btard.mesh_peer import MeshPeer, PastRound
from benchmarks.btard.round_answers import mean_remade, means_checked
from benchmarks.btard.round_arithmetic import RoundArithmetic, digest_of
from benchmarks.btard.statement_lies import StatementLies
from benchmarks.btard.trial import Trial
from benchmarks.btard.work_attacks import WorkForger

_SECONDS, _PATIENCE = 10.0, 2.5
_RUN = "ab" * 32
# An event for a member, and the turn of a statement.
_Arrival: TypeAlias = tuple[MeshPeer, events.RoundEvent, int | None]


class LocalMesh:
    """The mesh of a `trial`, all of whose members have seats; `newcomers` work for one.

    `lies` are those of liars beside false work, from round `lies_from` on; `forger` takes the place of the
    trial's attack. `on_statement` is called with what a member says to all others, and the turn's number.
    """

    def __init__(
        self,
        trial: Trial,
        lies: Mapping[str, StatementLies] | None = None,
        lies_from: int = 1,
        newcomers: tuple[str, ...] = (),
        forger: WorkForger | None = None,
        arithmetic: Callable[[], RoundArithmetic] = RoundArithmetic,
    ) -> None:
        self.trial, self._make_arithmetic, self._lies_from = trial, arithmetic, lies_from
        self._lies = {client: StatementLies(trial.liars) for client in trial.liars} | dict(lies or {})
        self.terms = ByzantineTerms(
            validators=trial.validators, radius=trial.radius, seconds=_SECONDS, patience=_PATIENCE
        )
        # Each attack has coins of its own: else all of a seed have the same luck.
        seed = trial.seed if trial.attack is None else f"{trial.seed} {trial.attack}"
        self._random, self._now, self._attempts = Random(seed), 0.0, 0
        weights, slots = trial.task.first_weights(trial.seed), np.zeros(0, np.float32)
        identities = {name: _identity(name) for name in (*trial.names, *newcomers)}
        seats = tuple(SeatedMember(name, identities[name]) for name in trial.names)
        first = AgreedState(
            0,
            digest_of(weights),
            digest_of(slots),
            self._random.randbytes(32),
            trial.radius or 0.0,
            MeshMembership(seats),
        )
        self.peers = {name: MeshPeer(name, key, first, weights, slots) for name, key in identities.items()}
        self.state = first
        self._forger = forger or trial.work_attack()
        self._queue = list[_Arrival]()
        self._sent = dict[str, Vector]()
        self._arithmetic = arithmetic()
        self._announced = set[int]()
        # Honest members and rounds with other bits; rounds in which all statements were exchanged.
        self.different_bits = self.exchanges = 0
        # How often work was done, and done again by judges.
        self.worked = self.judged = 0
        self.on_statement: Callable[[MeshPeer, Statement, int], None] = lambda _peer, _statement, _turn: None

    @property
    def honest(self) -> list[MeshPeer]:
        """The members that do not lie."""
        return [peer for name, peer in self.peers.items() if name not in self._lies]

    def play_round(self) -> bool:
        """Plays one round; returns whether honest members came to a result."""
        number = self.state.round + 1
        self._attempts += 1
        present = self.state.membership.present(number)
        self._arithmetic, self._announced = self._make_arithmetic(), set()
        self._sent = self._work(number)
        for name, peer in self.peers.items():
            peer.begin(self._machine(peer) if name in present else None)
        for name in present:
            self._start(self.peers[name])
        self._run()
        return self._settle()

    def _work(self, number: int) -> dict[str, Vector]:
        """Returns what each client that works commits to in round `number`."""
        seats = {seat.client for seat in self.state.membership.seats}
        banned = self.state.membership.banned
        working = [
            *roles_of(self.state, self.terms.validators).workers,
            *(name for name, peer in self.peers.items() if name not in seats and peer.identity not in banned),
        ]
        weights = {name: self.peers[name].weights for name in working}
        true, mislabelled = self.trial.trained(weights, self.state.coin)
        self.worked += len(working)
        return true if self._forger is None else self._forger.sent(number, true, mislabelled)

    def _machine(self, peer: MeshPeer) -> ByzantineRound:
        return ByzantineRound(
            self.trial.task.name,
            _RUN,
            self.terms,
            peer.state,
            (self._attempts, 1),
            peer.client,
            {name: other.identity for name, other in self.peers.items()},
            self.trial.bounds,
            self._now,
            lambda: (self._random.randbytes(32), self._random.randbytes(32)),
        )

    def _lies_of(self, peer: MeshPeer) -> StatementLies | None:
        return self._lies.get(peer.client) if self.state.round + 1 >= self._lies_from else None

    def _start(self, peer: MeshPeer) -> None:
        lies = self._lies_of(peer)
        for target, number in peer.cases(self.terms.validators):
            finding = peer.judge(self.trial, target, number)
            self.judged += 1
            self._give(peer, events.WorkJudged(finding if lies is None else lies.judged(finding)))
        self._give(peer, events.RoundTimePassed())

    def _run(self) -> None:
        """Lets everything arrive; then time passes until nobody waits for it."""
        while True:
            while self._queue:
                arriving, self._queue = self._queue, []
                by_peer = dict[str, list[_Arrival]]()
                for arrival in arriving:
                    by_peer.setdefault(arrival[0].client, []).append(arrival)
                for arrivals in by_peer.values():
                    self._arrive_together(arrivals)
            timers = [
                (due, peer)
                for peer in self.peers.values()
                if peer.machine is not None and (due := peer.machine.timer()) is not None
            ]
            if not timers:
                return
            self._now = max(self._now, min(due for due, _ in timers))
            for due, peer in timers:
                if due <= self._now:
                    self._queue.append((peer, events.RoundTimePassed(), None))

    def _arrive_together(self, arrivals: list[_Arrival]) -> None:
        """Gives a member's machine what arrives at one time.

        Statements followed by others only enter its log, as if it looked at them together.
        """
        for (peer, event, turn), following in zip(arrivals, [*arrivals[1:], None], strict=True):
            machine = peer.machine
            if (
                machine is not None
                and machine.turn.exchange is None
                and isinstance(event, events.StatementReceived)
                and event.statement.phase in PHASES
                and turn == machine.turn.turn.turn
                and following is not None
                and isinstance(following[1], events.StatementReceived)
            ):
                machine.turn.log.add(event.statement)
            else:
                self._arrive(peer, event, turn)

    def _arrive(self, peer: MeshPeer, event: events.RoundEvent, turn: int | None) -> None:
        machine = peer.machine
        if machine is None:
            return
        if isinstance(event, events.StatementReceived) and turn is not None:
            if turn > machine.turn.turn.turn:
                peer.later.append((turn, event))
            if turn != machine.turn.turn.turn:
                return
            if event.signers:
                known = peer.signers.setdefault(event.statement, {})
                known.update(dict.fromkeys(event.signers))
                event = events.StatementReceived(event.statement, tuple(known))
            if machine.turn.log.knows(event.statement):
                # The machine would not look at it either.
                return
        self._give(peer, event)

    def _give(self, peer: MeshPeer, event: events.RoundEvent) -> None:
        machine = peer.machine
        if machine is None:
            return
        for effect in machine.happened(event, self._now):
            self._perform(peer, machine, effect)

    def _perform(self, peer: MeshPeer, machine: ByzantineRound, effect: events.RoundEffect) -> None:
        match effect:
            case events.TurnBegins(turn, parts, works):
                self._begin_turn(peer, turn, parts, works)
            case events.SayToAll(statement, turn):
                self._say(peer, statement, turn.turn)
            case events.PassOn(statement, turn):
                known = peer.signers.setdefault(statement, {})
                known[peer.identity] = None
                self._pass_on(peer, events.StatementReceived(statement, tuple(known)), turn.turn)
            case events.SendBytes(digest, clients):
                for client in clients:
                    self._queue.append((self.peers[client], events.BytesReceived(digest), None))
            case events.MakeMean(_, pieces, radius):
                self._computed(peer, events.MeanMade(self._arithmetic.mean(pieces, radius)))
            case events.CheckMeans(coin, means):
                self._computed(peer, means_checked(self._arithmetic, machine.turn, coin, means))
            case events.RemakeMean():
                self._queue.append((peer, mean_remade(self._arithmetic, effect), None))
            case events.TakeOuterStep(means):
                self._queue.append((peer, self._stepped(peer, means), None))
            case events.RemoveClient(client, why):
                peer.removed[client] = why
            case events.FinishRound(state):
                peer.result = state
            case events.AdoptState(digest):
                peer.result = digest
            case events.FailRound():
                pass

    def _begin_turn(self, peer: MeshPeer, turn: int, parts: int, works: bool) -> None:
        pieces = self._cut(peer.client, parts) if works else []
        self._queue.append((peer, events.WorkReady(pieces), None))
        waiting, peer.later = peer.later, []
        for number, event in waiting:
            self._queue.append((peer, event, number))
        if turn not in self._announced:
            self._announced.add(turn)
            self._hear_newcomers(turn, parts)

    def _cut(self, client: str, parts: int) -> list[bytes]:
        return [self._arithmetic.keep(piece) for piece in self.trial.cut(self._sent[client], parts)]

    def _hear_newcomers(self, turn: int, parts: int) -> None:
        """Lets all who work without a seat commit to their work in a turn."""
        seats = {seat.client for seat in self.state.membership.seats}
        for name in self._sent:
            if name not in seats:
                body = CommitBody(self._cut(name, parts), coin_commitment(name, bytes(32), bytes(32)))
                own = self.peers[name]
                self._send(
                    own,
                    events.StatementReceived(
                        Statement(own.identity, TurnPhase.COMMIT, NOTHING_BEFORE, encode_body(body))
                    ),
                    turn,
                )

    def _say(self, peer: MeshPeer, statement: Statement, turn: int) -> None:
        lies = self._lies_of(peer)
        self.on_statement(peer, statement, turn)
        if lies is None:
            self._send(peer, events.StatementReceived(statement), turn)
            return
        for other in self.peers.values():
            said = lies.said(statement, other.client)
            if other is not peer and other.machine is not None and said is not None:
                self._queue.append((other, events.StatementReceived(said), turn))

    def _send(self, peer: MeshPeer, event: events.StatementReceived, turn: int) -> None:
        self._queue.extend(
            (other, event, turn)
            for other in self.peers.values()
            if other is not peer and other.machine is not None
        )

    def _pass_on(self, peer: MeshPeer, event: events.StatementReceived, turn: int) -> None:
        """Sends a statement to those that do not know it; machines of the others would not look at it."""
        self._queue.extend(
            (other, event, turn)
            for other in self.peers.values()
            if other is not peer
            and other.machine is not None
            and not (other.machine.turn.turn.turn == turn and other.machine.turn.log.knows(event.statement))
        )

    def _computed(self, peer: MeshPeer, event: events.RoundEvent) -> None:
        lies = self._lies_of(peer)
        told = event if lies is None else lies.computed(peer, event, self._arithmetic)
        self._queue.append((peer, told, None))

    def _stepped(self, peer: MeshPeer, means: tuple[bytes, ...]) -> events.OuterStepped:
        weights, slots = peer.weights, peer.slots
        if means:
            mean = self.trial.joined([self._arithmetic.vector(digest) for digest in means])
            weights, slots = self.trial.outer(peer.state.round + 1, mean, weights, slots)
        peer.stepped = weights, slots
        return events.OuterStepped(digest_of(weights), digest_of(slots))

    def _settle(self) -> bool:
        """Gives everybody the state that honest members came to, and counts who came to other bits."""
        finished = [peer for peer in self.honest if isinstance(peer.result, AgreedState)]
        digests = {
            result.digest() if isinstance(result := peer.result, AgreedState) else result
            for peer in self.honest
            if peer.result is not None
        }
        self.different_bits += max(0, len(digests) - 1)
        self.exchanges += any(
            peer.machine is not None and (peer.machine.turn.exchanges or peer.machine.turn.turn.turn > 1)
            for peer in self.honest
        )
        if not finished:
            return False
        for peer in self.peers.values():
            if isinstance(peer.result, AgreedState) and peer.stepped is not None and peer.machine is not None:
                peer.finish(self._past(peer, peer.machine))
        first = finished[0]
        self.different_bits += sum(not peer.has_agreed_bits() for peer in finished)
        for peer in self.peers.values():
            if peer.state.digest() != first.state.digest():
                peer.adopt(first)
        self.state = first.state
        return True

    def _past(self, peer: MeshPeer, machine: ByzantineRound) -> PastRound:
        statements = machine.turn.statements
        commits = statements.log.said(TurnPhase.COMMIT)
        pieces = {name: body.pieces for name, body in commits.items() if isinstance(body, CommitBody)}
        return PastRound(
            peer.state,
            peer.weights,
            pieces,
            statements.roles.workers,
            statements.means(),
            statements.checks(),
            machine.turn.tossed(),
            self._arithmetic,
        )


def _identity(name: str) -> bytes:
    return hashlib.sha256(f"identity {name}".encode()).digest()
