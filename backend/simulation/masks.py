"""The masks of a simulated client: a peer's own host and secrets, on virtual time, with drawn randomness."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from backend.crypto.client_keys import KEY_BYTES
from backend.peer.rounds.masking_host import MaskedModel, Masker
from backend.peer.rounds.masking_secrets import UnmaskedUpdate
from backend.peer.session.progress import Value
from backend.peer.session.trust_store import TrustStore
from backend.protocols.client.participant import ParticipantMachine
from backend.simulation.client_work import SimulatedUpdate
from backend.wire.messages import ClientFrame, ServerFrame, Train, Welcome

# Simulated clients keep no files: they trust whom they meet, in every life anew.
NOWHERE = Path("nowhere")


class Masks:
    """Owns one client's part in masked rounds over all its lives; its identity stays the same.

    `send` is asked to send a frame while the connection is open, `give_up` to end the training of a round.
    `random` is the client's alone: the same, the same keys, shares and noise.
    """

    def __init__(
        self,
        model: MaskedModel,
        random: Random,
        send: Callable[[ClientFrame], None],
        give_up: Callable[[int], None],
    ) -> None:
        self._model = model
        self._random = random
        self._send = send
        self._give_up = give_up
        self._identity = random.randbytes(KEY_BYTES)
        self._welcome: Welcome | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._masker = self._born()

    def hear(self, frame: ServerFrame, machine: ParticipantMachine) -> None:
        """The server said something, which the participant's `machine` has heard already."""
        plan = machine.plan
        match frame:
            case Welcome():
                self._welcome = frame
                if machine.ready is not None:
                    self._masker.connection_opened()
            case Train() if frame.masking and plan and plan.round == frame.round and self._welcome:
                self._masker.plan_received(self._welcome, frame, self._model)
            case _:
                self._masker.frame_received(frame)

    def mask(self, plan: Train, update: SimulatedUpdate, masked: Callable[[bytes], None]) -> None:
        """Has `masked` called with the masked update as soon as it may be; never where the round is lost."""
        vector = np.frombuffer(update.vector, "<f4")
        private = plan.privacy is not None and plan.privacy.clip > 0.0
        told = UnmaskedUpdate(vector, update.examples, update.loss, update.sums, private)
        masker = self._masker

        async def work() -> None:
            content = await masker.masked(plan.round, told)
            if content is not None and masker is self._masker:
                masked(bytes(content))

        self._spawn(work())

    def die(self) -> None:
        """The client's program ends: the secrets of the open round are gone."""
        self._masker.close()
        self._masker = self._born()

    def _born(self) -> Masker:
        known = TrustStore(NOWHERE)
        return Masker(
            self._identity,
            known,
            0,
            _Silence(),
            self._send,
            self._spawn,
            self._give_up,
            self._random.randbytes,
        )

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._working.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error  # The loop ends with it.


class _Silence:
    """Nobody reads what simulated clients tell. Implements progress.Teller."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        """Says nothing."""
