"""Takes part in the rounds of a Byzantine mesh, as a member with a seat or on probation."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from backend.crypto.statements import COIN_BYTES, NOTHING_BEFORE, Statement, TurnOfRound, coin_commitment
from backend.errors import GroupError
from backend.peer.links.links import LinkManager
from backend.peer.mesh.byzantine import part_jobs
from backend.peer.mesh.byzantine.ban_exchange import BanExchange
from backend.peer.mesh.byzantine.contents import ROUNDS_KEPT, RoundContents
from backend.peer.mesh.byzantine.exchange import (
    AgreedRound,
    ByzantineExchange,
    RoundInput,
    UnknownStateError,
)
from backend.peer.mesh.byzantine.learner import PreparedRound
from backend.peer.mesh.byzantine.membership_news import membership_news
from backend.peer.mesh.byzantine.mesh_states import MeshStates
from backend.peer.mesh.byzantine.round_signatures import RoundSignatures
from backend.peer.mesh.byzantine.round_watch import RoundWatch
from backend.peer.mesh.byzantine.state_transfer import StateTransfer
from backend.peer.mesh.early_frames import EarlyFrames, GroupKey
from backend.peer.mesh.result_signer import ResultSigner
from backend.peer.session.progress import Teller
from backend.peer.training.training_jobs import TrainingJobs
from backend.protocols.mesh import member_events
from backend.protocols.mesh.byzantine.first_state import first_state
from backend.protocols.mesh.byzantine.roles import basis_of, roles_of
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.protocols.mesh.byzantine.turn_log import TurnPhase
from backend.wire.ban_evidence import TurnSaid
from backend.wire.byzantine_bodies import CommitBody, encode_body
from backend.wire.byzantine_messages import Say, Show, TellState
from backend.wire.mesh_messages import Group
from backend.wire.peer_messages import Attest, GiveUp, GroupFrame

MOST_ATTEMPTS = 3
# Seconds for which a banned member waits for the round that shows why.
_ENDING_SECONDS = 5.0


@dataclass(frozen=True)
class _RoundNumbers:
    """How a round ended; `survivors` are places in the order."""

    survivors: list[int]
    fraction: float
    seconds: float


class ByzantineAverager:
    """Owns the attempts at rounds of one peer, whose private key is `key`.

    `send` sends to the server, `post` takes machine events.
    """

    def __init__(
        self,
        links: LinkManager,
        key: bytes,
        states: MeshStates,
        contents: RoundContents,
        transfer: StateTransfer,
        jobs: TrainingJobs,
        reporter: Teller,
        bans: BanExchange,
        send: Callable[[TellState], None],
        post: Callable[[member_events.Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        declines: Callable[[int, int], bool],
    ) -> None:
        self._links = links
        self._key = key
        self._states = states
        self._contents = contents
        self._transfer = transfer
        self._jobs = jobs
        self._reporter = reporter
        self._bans = bans
        self._send = send
        self._post = post
        self._spawn = spawn
        self._exchanges: dict[GroupKey, ByzantineExchange] = {}
        self._early_frames: EarlyFrames[GroupFrame | Say] = EarlyFrames(links, declines)
        self._averaging: asyncio.Task[None] | None = None
        self._watch: RoundWatch | None = None
        self._signer = ResultSigner(links, key, reporter, post)

    def average(self, order: Group, prepared: PreparedRound) -> None:
        """Takes part in a round; posts `GroupAveraged` or `GroupFailed` when it has ended."""
        self._early_frames.join(order)
        self._averaging = self._spawn(self._average(order, prepared))

    def abort(self) -> None:
        """Leaves the current round."""
        if self._averaging:
            self._averaging.cancel()

    async def ended(self) -> None:
        """Waits until the current round has ended, for some seconds at most."""
        if self._averaging:
            await asyncio.wait([self._averaging], timeout=_ENDING_SECONDS)

    def close(self) -> None:
        """Ends all attempts."""
        for exchange in self._exchanges.values():
            exchange.close()
        self._exchanges.clear()
        self._early_frames.close()
        self._signer.close()

    def down(self, client: str) -> None:
        """Takes the loss of the link to `client`."""
        for exchange in self._exchanges.values():
            exchange.down(client)

    def frame_received(self, client: str, frame: GroupFrame | Say | Show) -> None:
        """Takes a frame of a round's member."""
        key = (frame.round, frame.group)
        if isinstance(frame, Attest) and self._signer.is_of(frame):
            self._signer.add(client, frame)
        elif isinstance(frame, Say | Show) and key in self._exchanges:
            self._exchanges[key].frame_received(client, frame)
        elif isinstance(frame, GiveUp):
            if self._watch is not None and self._watch.key == key:
                self._watch.failed(client)
                self._transfer.wake()
        elif isinstance(frame, Say | Attest):
            self._early_frames.add(client, frame)

    def server_reached(self) -> None:
        """Takes the server's return, which may not know the newest state."""
        self._early_frames.server_reached()
        if self._states.proof is not None:
            self._send(self._states.proof)

    async def _average(self, order: Group, prepared: PreparedRound) -> None:
        began = asyncio.get_running_loop().time()
        self._close_ended()
        others = len(order.members) - 1
        sentence = f"Round {order.round}: averaging with {others} other{'s' * (others > 1)}, checked by all."
        self._reporter.tell("averaging", sentence, round=order.round, group=order.group, members=others + 1)
        before = self._states.newest
        try:
            state = prepared.state or self._founded(order, prepared)
            seated = state.membership.present(state.round + 1)
            if 2 * len(set(seated).intersection(order.members)) <= len(seated):
                raise GroupError("This group leaves out most of the members with a seat.")
            if self._links.local.client in seated:
                active = await self._take_part(order, state, prepared)
            else:
                active = await self._follow(order, state, prepared)
        except GroupError as error:
            sentence = f"Round {order.round}: no result in this group. {error}"
            self._reporter.tell("failed", sentence, round=order.round, group=order.group)
            self._post(member_events.GroupFailed(order.round, order.group, str(error)))
        else:
            self._tell_membership(before)
            self._sign(order, active, asyncio.get_running_loop().time() - began)

    def _founded(self, order: Group, prepared: PreparedRound) -> AgreedState:
        """Returns the first state, in which all members of the first group have a seat."""
        founders = self._identities(order.members)
        if len(founders) < len(order.members):
            raise GroupError("The keys of some members are not known yet.")
        weights = hashlib.sha256(prepared.weights).digest()
        return first_state(self._states.rules, weights, founders)

    def _identities(self, clients: Collection[str]) -> dict[str, bytes]:
        own = RoundSignatures(self._key, (0, 0)).identity
        found = {
            client: neighbour.identity
            for client in clients
            if (neighbour := self._links.neighbour(client)) is not None
        }
        return {**found, self._links.local.client: own}

    async def _take_part(self, order: Group, state: AgreedState, prepared: PreparedRound) -> Collection[str]:
        """Runs the round's machine; returns the clients that ended it together."""
        key = (order.round, order.group)
        slots = self._states.slots if prepared.state else b""
        rules, trainable = self._states.rules, self._jobs.manifest.parameters.trainable
        given = RoundInput(
            rules, state, prepared.update, prepared.judgements, prepared.weights, slots, trainable
        )
        identities = self._identities(order.members)
        exchange = self._exchanges[key] = ByzantineExchange(
            order, given, identities, self._key, self._links, self._contents, partial(self._removed, state)
        )
        try:
            self._begin(key, exchange)
            outcome = await exchange.result()
        except UnknownStateError as error:
            return await self._adopt(error.state, state.round + 1)
        except asyncio.CancelledError:
            self._exchanges.pop(key).close()
            raise
        except GroupError as error:
            self._tell_failure(order, state, str(error))
            raise
        # First: if it bans this peer, the server ends the session as soon as it hears of it.
        self._bans.round_ended(state, outcome.state, outcome.said)
        await self._keep(outcome)
        self._transfer.tell([one for one in order.members if one not in outcome.active])
        self._send(outcome.proof)
        return outcome.active

    def _tell_failure(self, order: Group, state: AgreedState, reason: str) -> None:
        """Tells members without a part in the round, who wait for its result."""
        for client in set(order.members).difference(state.membership.present(state.round + 1)):
            self._links.send(client, GiveUp(order.round, order.group, 0, reason[:500]))

    def _begin(self, key: GroupKey, exchange: ByzantineExchange) -> None:
        exchange.start()
        self._take_early(key)

    def _take_early(self, key: GroupKey) -> None:
        for client, frames in self._early_frames.take(key).items():
            for frame in frames:
                self.frame_received(client, frame)

    async def _keep(self, outcome: AgreedRound) -> None:
        state = outcome.state
        self._transfer.keep(state, outcome.weights, outcome.slots)
        self._states.take(state, outcome.proof, outcome.slots, outcome.work)
        self._contents.forget_before(state.round - ROUNDS_KEPT)
        await asyncio.to_thread(self._states.write, outcome.weights)

    async def _adopt(self, digest: bytes, number: int) -> Collection[str]:
        """Fetches a state that the others agreed on."""
        self._transfer.want(digest)
        await self._transfer.catch_up()
        return self._survivors(number)

    async def _follow(self, order: Group, state: AgreedState, prepared: PreparedRound) -> Collection[str]:
        """Works without a seat: commits to its work to earn one, and takes the next state from others."""
        if self._links.local.client not in {seat.client for seat in state.membership.seats}:
            self._commit(order, state, prepared)
        watch = self._watch = RoundWatch(order, state.membership.present(state.round + 1))
        until = asyncio.get_running_loop().time() + order.seconds
        await self._transfer.follow(state.round + 1, until, lambda: watch.is_lost)
        return self._survivors(state.round + 1)

    def _commit(self, order: Group, state: AgreedState, prepared: PreparedRound) -> None:
        roles, key = roles_of(state, self._states.rules.terms.validators), (order.round, order.group)
        if prepared.update is None:
            return
        pieces = part_jobs.cut(prepared.update, len(roles.workers))
        digests = [part_jobs.sha256(piece) for piece in pieces]
        for digest, piece in zip(digests, pieces, strict=True):
            self._contents.add(state.round + 1, digest, piece)
        local, coin = self._links.local, secrets.token_bytes(COIN_BYTES)
        basis = basis_of(state, key, roles.active)
        turn = TurnOfRound(local.task, self._states.rules.run, state.round + 1, 1, basis)
        signatures = RoundSignatures(self._key, key)
        body = CommitBody(digests, coin_commitment(local.client, coin, coin))
        said = Statement(signatures.identity, TurnPhase.COMMIT, NOTHING_BEFORE, encode_body(body))
        frame = signatures.say(turn, said)
        for client in order.members:
            if client != local.client:
                self._links.send(client, frame)

    def _survivors(self, number: int) -> Collection[str]:
        """Returns who ended round `number` together, if this peer has its state by now."""
        state, proof = self._states.newest, self._states.proof
        if state is None or proof is None or state.round < number:
            raise GroupError("The members' next state did not arrive here in time.")
        return proof.active

    def _sign(self, order: Group, clients: Collection[str], seconds: float) -> None:
        state, rules = self._states.newest, self._states.rules
        if state is None:
            return
        survivors = [place for place, client in enumerate(order.members) if client in clients]
        numbers = _RoundNumbers(survivors, len(survivors) / len(order.members), seconds)
        self._signer.sign(order, numbers, rules.bundle, rules.run, state.weights.hex())
        self._take_early((order.round, order.group))

    def _tell_membership(self, before: AgreedState | None) -> None:
        """Reports what the newest state changed for this peer, and who was banned; cuts these off."""
        newest, client = self._states.newest, self._links.local.client
        if newest is not None:
            self._bans.cut_off(newest.membership.banned)
            identity, terms = self._identities([])[client], self._states.rules.terms
            for news in membership_news(client, identity, terms, before, newest):
                self._reporter.tell(news.event, news.sentence, **news.fields)

    def _removed(self, state: AgreedState, client: str, why: str, said: TurnSaid | None) -> None:
        self._reporter.tell("removed", f"{client[:6]} was removed from the round: {why}.", client=client)
        identity = state.membership.identities().get(client)
        if said is not None and identity is not None:
            self._spawn(self._bans.removed(client, identity, why, said, self._contents.find_digest))

    def _close_ended(self) -> None:
        """Closes attempts that nobody asks about any more, and old ones: each has vectors in memory."""
        for key in list(self._exchanges):
            if self._exchanges[key].over or len(self._exchanges) > MOST_ATTEMPTS:
                self._exchanges.pop(key).close()
