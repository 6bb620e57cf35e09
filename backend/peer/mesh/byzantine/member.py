"""One peer's membership in a Byzantine mesh: its states, its work, and its part in rounds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from backend.crypto.client_keys import identity_key
from backend.peer.links.links import LinkManager
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.byzantine.averager import ByzantineAverager
from backend.peer.mesh.byzantine.ban_exchange import BanExchange
from backend.peer.mesh.byzantine.banned import BanStore
from backend.peer.mesh.byzantine.contents import ROUNDS_KEPT, RoundContents
from backend.peer.mesh.byzantine.learner import ByzantineLearner
from backend.peer.mesh.byzantine.mesh_states import MeshStates
from backend.peer.mesh.byzantine.state_transfer import StateTransfer
from backend.peer.mesh.byzantine.work_judge import WorkJudge
from backend.peer.mesh.weight_transfer import WeightSources, WeightTransfer
from backend.peer.mesh.weights import WeightCache
from backend.peer.session.progress import Teller
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh import member_events
from backend.wire.byzantine_messages import AskState, ByzantineRules, Say, Show, TellEvidence, TellState
from backend.wire.mesh_messages import Entered, Group
from backend.wire.messages import Train
from backend.wire.peer_messages import GroupFrame


class ByzantineMember:
    """Owns what a peer with the private key `key` knows of a Byzantine mesh, and does in it.

    The newest state is stored in `folder` by the task's full `address`. `weights` are those of the session,
    `transfer` and `sources` fetch what it lacks; the other arguments are as the averager's.
    """

    def __init__(
        self,
        rules: ByzantineRules,
        folder: Path,
        address: str,
        links: LinkManager,
        key: bytes,
        jobs: TrainingJobs,
        weights: WeightCache,
        contents: RoundContents,
        transfer: WeightTransfer,
        sources: WeightSources,
        reporter: Teller,
        send: Callable[[TellState], None],
        post: Callable[[member_events.Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        declines: Callable[[int, int], bool],
    ) -> None:
        self.rules = rules
        # What a court judges began from weights of so many rounds ago.
        weights.most = ROUNDS_KEPT + 1
        self._weights = weights
        self._states = MeshStates(rules, folder, address)
        self._transfer = StateTransfer(links, self._states, weights, contents, transfer, jobs)
        judge = WorkJudge(jobs, self._states, weights, contents, transfer, links, reporter)
        client, identity = links.local.client, identity_key(key)
        self._learner = ByzantineLearner(
            client, identity, self._states, self._transfer, judge, weights, sources, jobs, reporter
        )
        task = links.local.task
        store = BanStore(folder, address, task, rules.run)
        self._bans = BanExchange(task, rules.run, store, links, transfer, reporter, spawn)
        self._averager = ByzantineAverager(
            links,
            key,
            self._states,
            contents,
            self._transfer,
            jobs,
            reporter,
            self._bans,
            send,
            post,
            spawn,
            declines,
        )
        self._is_read = False

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        """Does what is this member's in the next round; None if the job is aborted. Raises PeerError."""
        if not self._is_read:
            self._is_read = True
            await asyncio.to_thread(self._bans.store.read)
            stored = await asyncio.to_thread(self._states.read)
            if stored is not None and self._states.newest is not None:
                self._transfer.keep(self._states.newest, stored, self._states.slots)
            newest = self._states.newest
            self._bans.cut_off(newest.membership.banned if newest else ())
        return await self._learner.train(job, entered)

    def average(self, order: Group, work: TrainedWork) -> None:
        """Takes part in a round with what was prepared for it."""
        del work
        if self._learner.prepared is not None:
            self._averager.average(order, self._learner.prepared)

    def abort(self) -> None:
        """Leaves the current round."""
        self._averager.abort()

    def find(self, sha256: str) -> bytes | None:
        """Returns the evidence of this SHA-256 in hexadecimal, for a peer that fetches it."""
        return self._bans.store.find(sha256)

    def up(self, client: str) -> None:
        """Takes a new link to `client`."""
        self._bans.up(client)

    def down(self, client: str) -> None:
        """Takes the loss of the link to `client`."""
        self._averager.down(client)

    def frame_received(self, client: str, frame: GroupFrame | Say | Show) -> None:
        """Takes a frame of a round's member."""
        self._averager.frame_received(client, frame)

    def state_frame_received(self, client: str, frame: AskState | TellState | TellEvidence) -> None:
        """Takes a question about states, an answer, or evidence that bans a member."""
        match frame:
            case AskState():
                self._transfer.asked(client, frame)
            case TellState():
                self._transfer.told(client, frame)
            case TellEvidence():
                self._bans.received(client, frame)

    def server_reached(self) -> None:
        """Takes the server's return."""
        self._averager.server_reached()

    async def round_ended(self) -> None:
        """Waits until the current round has ended, for some seconds at most."""
        await self._averager.ended()

    async def evidence_written(self) -> None:
        """Waits until the evidence of rounds that ended is stored."""
        await self._bans.written()

    def close(self) -> None:
        """Ends all attempts at rounds."""
        self._averager.close()
