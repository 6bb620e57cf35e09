"""Hosts the machine of one Byzantine round: keeps the bytes, signs, and performs the machine's effects.

Hashing and calculations of long vectors run on other threads, so that links stay alive meanwhile.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from backend.crypto.statements import COIN_BYTES, Statement, TurnOfRound
from backend.errors import GroupError, WrongLengthError
from backend.numerics.vectors import Vector
from backend.peer.links.links import LinkManager
from backend.peer.mesh.byzantine import part_jobs
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import RoundWork
from backend.peer.mesh.byzantine.round_signatures import RoundSignatures
from backend.peer.mesh.byzantine.shown_bytes import MOST_VECTORS, ShownBytes
from backend.peer.mesh.sender import Chunk, Sender
from backend.protocols.mesh.byzantine import round_events as events
from backend.protocols.mesh.byzantine.adoption import encode_state
from backend.protocols.mesh.byzantine.evidence.evidence_turn import turn_said
from backend.protocols.mesh.byzantine.machine import ByzantineRound
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.wire.ban_evidence import TurnSaid
from backend.wire.byzantine_bodies import CommitBody, WorkFinding
from backend.wire.byzantine_messages import ByzantineRules, Say, Show, TellState
from backend.wire.mesh_codec import encode_mesh
from backend.wire.mesh_messages import Group

T = TypeVar("T")

MOST_FAULTS = 3
# Bytes that are hashed at once, and of vectors that are computed with at once: that takes a few milliseconds
# at most, about as long as to wait for another thread.
_SHORT, _SHORT_VECTOR = 1 << 19, 1 << 19


@dataclass(frozen=True)
class RoundInput:
    """What a member brings to a round after `state`: its update [P], None of a validator, and judgements.

    `weights` and `slots` are the contents that the state names, `trainable` how many values are optimized.
    """

    rules: ByzantineRules
    state: AgreedState
    update: Vector | None
    judgements: Sequence[WorkFinding]
    weights: bytes
    slots: bytes
    trainable: int


@dataclass(frozen=True)
class AgreedRound:
    """The agreed state, and its contents where this member computed it; `proof` is for others.

    `active` are those who ended with it, `work` is what they committed to, and `said` what they judged and
    signed.
    """

    state: AgreedState
    proof: TellState
    weights: bytes
    slots: bytes
    active: tuple[str, ...]
    work: RoundWork
    said: TurnSaid


class UnknownStateError(GroupError):
    """The members agreed on the `state` (SHA-256), which this one did not compute."""

    def __init__(self, state: bytes) -> None:
        super().__init__("The members agreed on another state than this peer computed.")
        self.state = state


class ByzantineExchange:
    """One member's part in one attempt at a round, on one event loop. Owned by the averager.

    `identities` are those of all in the mesh, by client. `on_removed` takes a removed client, why, and the
    evidence. The averager passes in frames of this round, and keeps the exchange until it is `over`: others
    may need this member's statements after it has the result.
    """

    def __init__(
        self,
        order: Group,
        given: RoundInput,
        identities: Mapping[str, bytes],
        key: bytes,
        links: LinkManager,
        contents: RoundContents,
        on_removed: Callable[[str, str, TurnSaid | None], None],
    ) -> None:
        self._order = order
        self._given = given
        self._links = links
        self._contents = contents
        self._on_removed = on_removed
        self._loop = asyncio.get_running_loop()
        self._began_at = self._loop.time()
        self._size = len(given.weights) // 4
        self._stepped: tuple[bytes, bytes] | None = None
        self._signatures = RoundSignatures(key, (order.round, order.group))
        own = links.local.client
        clients = {**identities, **given.state.membership.identities()}
        self._others = sorted(client for client in clients if client != own)
        self._shown = {client: self._shown_bytes() for client in self._others}
        self._sender = Sender(links, sorted([own, *self._others]), own)
        self._faults: Counter[str] = Counter()
        self._jobs: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._result: asyncio.Future[AgreedRound] = self._loop.create_future()
        self._is_closed = False
        self._machine = ByzantineRound(
            links.local.task,
            given.rules.run,
            given.rules.terms,
            given.state,
            (order.round, order.group),
            own,
            clients,
            partial(part_jobs.part_bounds, self._size),
            self._began_at,
            _toss,
        )
        self._turn = self._machine.turn.turn
        self._active = self._machine.turn.roles.active

    # Calls of the averager.

    def start(self) -> None:
        """Begins with what the member judged."""
        self._handle(events.RoundTimePassed())
        for judgement in self._given.judgements:
            self._handle(events.WorkJudged(judgement))

    async def result(self) -> AgreedRound:
        """Waits for the outcome. Raises GroupError if this member has none."""
        return await asyncio.shield(self._result)

    def frame_received(self, client: str, frame: Say | Show) -> None:
        """Takes a frame of this attempt."""
        if self._is_closed or client not in self._shown:
            return
        if isinstance(frame, Say):
            self._hear(client, frame)
        else:
            self._take_chunk(client, frame)

    def down(self, client: str) -> None:
        """Takes the loss of the link to `client`, and of unfinished bytes on it."""
        if client in self._shown:
            self._sender.clear(client)
            self._shown[client].clear()

    @property
    def over(self) -> bool:
        """Whether no member needs this one any more."""
        late = self._loop.time() - self._began_at > self._order.seconds + 2 * self._order.patience
        return self._is_closed or (self._result.done() and late)

    def close(self) -> None:
        """Ends the exchange; a waiting `result` raises GroupError."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._sender.close()
        for job in self._jobs:
            job.cancel()
        self._fail(GroupError("This peer leaves the round."))

    # The machine.

    def _handle(self, event: events.RoundEvent) -> None:
        if self._is_closed:
            return
        before = self._turn
        for effect in self._machine.happened(event, self._loop.time()):
            self._perform(effect)
        self._set_timer()
        if self._turn != before:
            for client, frame in self._signatures.take_early():
                self._hear(client, frame)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._machine.timer()
        if due is not None:
            self._timer = self._loop.call_at(due, self._handle, events.RoundTimePassed())

    def _hear(self, client: str, frame: Say) -> None:
        turn = self._turn
        if frame.turn > turn.turn:
            self._signatures.keep_early(client, frame)
        elif frame.turn == turn.turn and (heard := self._signatures.received(turn, frame)) is not None:
            self._handle(events.StatementReceived(*heard))

    def _perform(self, effect: events.RoundEffect) -> None:
        match effect:
            case events.TurnBegins(_, parts, works):
                # Effects before this one belong to the last turn.
                self._turn = self._machine.turn.turn
                self._active = self._machine.turn.roles.active
                self._run_job(self._cut(parts if works else 0))
            case events.SayToAll(statement, turn):
                self._send_all(self._signatures.say(turn, statement))
            case events.PassOn(statement, turn):
                self._send_all(self._signatures.pass_on(turn, statement))
            case events.SendBytes(digest, clients):
                content = np.frombuffer(self._contents.get(digest), np.uint8)
                for client in clients:
                    self._sender.add(client, show_of(self._order, digest, len(content)), content)
            case events.RemoveClient(client, why, statements, turn):
                self._on_removed(client, why, self._said(turn, statements) if statements else None)
            case events.FinishRound(state):
                self._finish(state)
            case events.AdoptState(digest):
                self._fail(UnknownStateError(digest))
            case events.FailRound(reason):
                self._fail(GroupError(reason))
            case _ if self._turn == self._machine.turn.turn:
                self._calculate(effect)

    def _calculate(self, effect: events.RoundEffect) -> None:
        turn, read = self._machine.turn, self._contents.get
        sizes = turn.sizes
        match effect:
            case events.MakeMean(part):
                self._run_job(self._make_mean(partial(part_jobs.made_mean, effect, sizes[part], read)))
            case events.CheckMeans():
                own, pieces = turn.pieces or [], turn.pieces_of(turn.part)
                job = partial(part_jobs.checked_means, effect, sizes, own, turn.part, pieces, read)
                self._run_job(self._answer(job))
            case events.RemakeMean(part):
                self._run_job(self._answer(partial(part_jobs.remade_mean, effect, sizes[part], read)))
            case events.TakeOuterStep(means):
                self._run_job(self._step(means, sizes))

    def _send_all(self, frame: Say) -> None:
        data = encode_mesh(frame)
        for client in self._others:
            self._links.send(client, data)

    def _fail(self, error: GroupError) -> None:
        if not self._result.done():
            self._result.set_exception(error)
            # The error counts as retrieved, even if no caller waits for the result.
            self._result.exception()

    def _finish(self, state: AgreedState) -> None:
        if self._result.done() or self._stepped is None:
            return
        log, given = self._machine.turn.log, self._given
        verdicts = [log.statement_of(TurnPhase.VERDICT, one) for one in log.said(TurnPhase.VERDICT)]
        commits = log.said(TurnPhase.COMMIT)
        pieces = {
            work.client: tuple(body.pieces)
            for work in state.works
            if isinstance(body := commits.get(work.client), CommitBody)
            and log.digest_of(TurnPhase.COMMIT, work.client) == work.commit
        }
        active = self._machine.turn.roles.active
        proof = TellState(
            state=encode_state(state),
            attempt=(self._order.round, self._order.group),
            turn=self._turn.turn,
            active=list(active),
            verdicts=self._signatures.signed(self._turn, verdicts),
        )
        turn = self._machine.turn
        work = RoundWork(
            base=given.state,
            pieces=pieces,
            workers=turn.roles.workers,
            means=turn.means(),
            checks=turn.statements.checks(),
            coin=state.coin,
        )
        judged = [log.statement_of(TurnPhase.COMMIT, one) for one in active]
        said = self._said(self._turn, [*judged, *verdicts])
        self._result.set_result(AgreedRound(state, proof, *self._stepped, active, work, said))

    def _said(self, turn: TurnOfRound, statements: Iterable[Statement]) -> TurnSaid:
        """Returns statements of the last turn that began, with their signatures."""
        attempt, signed = (self._order.round, self._order.group), self._signatures.signed(turn, statements)
        return turn_said(self._given.state, attempt, turn.turn, self._active, signed)

    # Bytes of others.

    def _take_chunk(self, client: str, frame: Show) -> None:
        try:
            content = self._shown[client].take(frame)
        except WrongLengthError:
            self._fault(client, "it sends too many bytes, or out of order")
            return
        if content is not None:
            self._run_job(self._keep_shown(client, frame.digest, content))

    async def _keep_shown(self, client: str, digest: bytes, content: bytes) -> None:
        is_short = len(content) <= _SHORT
        found = part_jobs.sha256(content) if is_short else await asyncio.to_thread(part_jobs.sha256, content)
        if found == digest:
            self._keep(digest, content)
            self._handle(events.BytesReceived(digest))
        else:
            self._fault(client, "it sends other bytes than it names")

    def _fault(self, client: str, reason: str) -> None:
        """Ends the link to a member that sends bad bytes for the third time, and after that."""
        self._faults[client] += 1
        if self._faults[client] >= MOST_FAULTS:
            self._links.drop(client, reason)

    def _keep(self, digest: bytes, content: bytes) -> None:
        self._contents.add(self._given.state.round + 1, digest, content)

    def _shown_bytes(self) -> ShownBytes:
        return ShownBytes(4 * self._size, 4 * self._size * MOST_VECTORS)

    # Calculations.

    async def _computed(self, job: Callable[[], T]) -> T:
        """Returns what a job computes, on another thread if the vector is long."""
        return job() if 4 * self._size <= _SHORT_VECTOR else await asyncio.to_thread(job)

    def _run_job(self, job: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._job_ended)

    def _job_ended(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        if not job.cancelled() and (error := job.exception()) and not self._result.done():
            self._result.set_exception(error)

    async def _cut(self, parts: int) -> None:
        turn, update = self._turn, self._given.update
        pieces: list[tuple[bytes, bytes]] = []
        if parts and update is not None:
            pieces = await self._computed(lambda: part_jobs.hashed(part_jobs.cut(update, parts)))
        for digest, piece in pieces:
            self._keep(digest, piece)
        self._answered(turn, events.WorkReady([digest for digest, _ in pieces]))

    async def _make_mean(self, job: Callable[[], bytes]) -> None:
        turn = self._turn
        [(digest, mean)] = await self._computed(lambda: part_jobs.hashed([job()]))
        self._keep(digest, mean)
        self._answered(turn, events.MeanMade(digest))

    async def _answer(self, job: Callable[[], events.RoundEvent]) -> None:
        turn = self._turn
        self._answered(turn, await self._computed(job))

    def _answered(self, turn: TurnOfRound, event: events.RoundEvent) -> None:
        """Takes what a job found, unless another turn began meanwhile: then it is about other pieces."""
        if turn == self._turn:
            self._handle(event)

    async def _step(self, means: Sequence[bytes], sizes: Sequence[int]) -> None:
        turn, given, read = self._turn, self._given, self._contents.get
        rules, trainable = given.rules, given.trainable
        job = partial(
            part_jobs.outer_stepped, rules.outer, given.weights, given.slots, trainable, means, sizes, read
        )
        (weights_digest, weights), (slots_digest, momentum) = await self._computed(
            lambda: part_jobs.hashed(job())
        )
        if turn == self._turn:
            self._stepped = weights, momentum
        self._answered(turn, events.OuterStepped(weights_digest, slots_digest))


def show_of(order: Group, digest: bytes, size: int) -> Chunk:
    """Returns a maker of chunks of the bytes with this SHA-256."""
    return lambda offset, data: Show(
        round=order.round, group=order.group, digest=digest, size=size, offset=offset, data=data
    )


def _toss() -> tuple[bytes, bytes]:
    return secrets.token_bytes(COIN_BYTES), secrets.token_bytes(COIN_BYTES)
