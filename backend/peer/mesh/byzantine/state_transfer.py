"""Asks other members for newer states, adopts those that can be believed, and tells them this peer's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from backend.peer.links.links import LinkManager
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import NO_STATE, MeshStates
from backend.peer.mesh.weight_transfer import WeightTransfer
from backend.peer.mesh.weights import WeightCache
from backend.peer.training.training_jobs import TrainingJobs
from backend.protocols.mesh.byzantine.adoption import adopted
from backend.protocols.mesh.byzantine.first_state import NO_SLOTS
from backend.protocols.mesh.byzantine.state import AgreedState
from backend.wire.byzantine_messages import AskState, TellState

# Seconds to wait for the answers of linked peers: of a peer that knows no state, and of one that knows one.
FIRST_ANSWER_SECONDS, ANSWER_SECONDS = 5.0, 1.0


class StateTransfer:
    """Owns what others told about their states; `jobs` know the size of the model.

    A state is adopted once its weights and momentum are here.
    """

    def __init__(
        self,
        links: LinkManager,
        states: MeshStates,
        weights: WeightCache,
        contents: RoundContents,
        transfer: WeightTransfer,
        jobs: TrainingJobs,
    ) -> None:
        self._links = links
        self._states = states
        self._weights = weights
        self._contents = contents
        self._transfer = transfer
        self._jobs = jobs
        self._told: dict[str, TellState] = {}
        self._answered: set[str] = set()
        self._heard = asyncio.Event()
        self._wanted: bytes | None = None

    def asked(self, client: str, frame: AskState) -> None:
        """Answers with the newest state, or that there is none."""
        newest, proof = self._states.newest, self._states.proof
        knows = newest is not None and proof is not None and newest.round > frame.after
        self._links.send(client, proof if knows and proof is not None else NO_STATE)

    def told(self, client: str, frame: TellState) -> None:
        """Takes what a peer tells; it is considered by who waits."""
        self._answered.add(client)
        if frame.state:
            self._told[client] = frame
        self._heard.set()

    def tell(self, clients: Collection[str]) -> None:
        """Tells these clients the newest state."""
        if self._states.proof is not None:
            for client in clients:
                self._links.send(client, self._states.proof)

    def want(self, state: bytes) -> None:
        """Takes that members agreed on the state of this SHA-256, which this peer does not know."""
        self._wanted = state

    async def catch_up(self) -> bool:
        """Asks all linked peers once, and adopts what can be believed; returns whether the state is newer."""
        others = set(self._links.linked())
        after = self._states.newest.round if self._states.newest else -1
        self._answered.clear()
        for client in others:
            self._links.send(client, AskState(after=max(0, after)))
        loop = asyncio.get_running_loop()
        until = loop.time() + (ANSWER_SECONDS if self._states.newest else FIRST_ANSWER_SECONDS)
        while not self._answered >= others and loop.time() < until:
            self._heard.clear()
            await self._wait(until - loop.time())
        return await self._adopt()

    def wake(self) -> None:
        """Has those who wait look again whether they still have to."""
        self._heard.set()

    async def follow(self, number: int, until: float, is_lost: Callable[[], bool]) -> bool:
        """Waits for the state after round `number` until a time of the loop, or until the round `is_lost`.

        Returns whether it came.
        """
        loop = asyncio.get_running_loop()
        while True:
            self._heard.clear()
            await self._adopt()
            if self._states.newest is not None and self._states.newest.round >= number:
                return True
            if loop.time() >= until or is_lost():
                return False
            await self._wait(until - loop.time())

    async def _wait(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._heard.wait(), max(0.0, seconds))
        except TimeoutError:
            return

    async def _adopt(self) -> bool:
        """Adopts the newest state that can be believed, if its contents are to be had."""
        task, states = self._links.local.task, self._states
        identities = {
            client: neighbour.identity
            for client in self._told
            if (neighbour := self._links.neighbour(client)) is not None
        }
        args = (task, states.rules.run, states.digest, states.newest, self._told, identities, self._wanted)
        found = await asyncio.to_thread(adopted, *args, self._links.local.client)
        if found is None:
            return False
        state, frame = found
        holders = [client for client, told in self._told.items() if told.state == frame.state]
        trainable = 4 * self._jobs.manifest.parameters.trainable
        weights = await self._content(state.weights, self._jobs.update_bytes(), holders)
        slots = b"" if state.slots == NO_SLOTS else await self._content(state.slots, trainable, holders)
        if weights is None or slots is None:
            return False
        self.keep(state, weights, slots)
        states.take(state, frame, slots)
        await asyncio.to_thread(states.write, weights)
        self._wanted = None
        self._told = {client: told for client, told in self._told.items() if client not in holders}
        return True

    def keep(self, state: AgreedState, weights: bytes, slots: bytes) -> None:
        """Keeps the contents of a state for this peer, and for others that ask."""
        self._weights.keep(state.weights.hex(), weights)
        self._contents.add(state.round, state.slots, slots)

    async def _content(self, digest: bytes, size: int, holders: Collection[str]) -> bytes | None:
        sha256 = digest.hex()
        kept = self._weights.find(sha256) or self._contents.find(sha256)
        return kept if kept is not None else await self._transfer.fetch(sha256, size, sorted(holders))
