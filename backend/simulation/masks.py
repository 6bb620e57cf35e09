"""Masks a simulated client's updates with the peer's real masker, on virtual time and with a seed."""

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
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session.progress import Value
from backend.peer.session.trust_store import TrustStore
from backend.protocols.client.participant import ParticipantMachine
from backend.simulation.client_work import SimulatedUpdate
from backend.wire.messages import ClientFrame, ServerFrame, Train, Welcome

# Simulated clients store no files: after each restart they trust the keys that they see first.
NO_FOLDER = Path("nowhere")


class ClientMasking:
    """Owns one client's part in masked rounds across restarts of the client; its identity stays the same.

    `send` sends a frame while the connection is open; `give_up` ends the training of a round. `random`
    belongs to this client and determines its keys, shares and noise.
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
        self._spent_versions = SpentVersions(None)
        self._welcome: Welcome | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._masker = self._new_masker()

    def frame_received(self, frame: ServerFrame, machine: ParticipantMachine) -> None:
        """Handles a frame of the server that the participant's `machine` has handled already."""
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

    def mask(self, plan: Train, update: SimulatedUpdate, send_masked: Callable[[bytes], None]) -> None:
        """Calls `send_masked` with the masked update once the protocol allows it, unless the round fails."""
        vector = np.frombuffer(update.vector, "<f4")
        private = plan.privacy is not None and plan.privacy.clip > 0.0
        unmasked = UnmaskedUpdate(vector, update.examples, update.loss, update.sums, private)
        masker = self._masker

        async def work() -> None:
            content = await masker.masked(plan.round, unmasked)
            if content is not None and masker is self._masker:
                send_masked(bytes(content))

        self._spawn(work())

    def kill(self) -> None:
        """Discards the secrets of the open round, as when the client's program ends."""
        self._masker.close()
        self._masker = self._new_masker()

    def _new_masker(self) -> Masker:
        trust_store = TrustStore(NO_FOLDER)
        return Masker(
            self._identity,
            trust_store,
            self._spent_versions,
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
            raise error  # The loop stops with this error.


class _Silence:
    """Discards the progress messages of simulated clients. Implements progress.Teller."""

    def tell(self, event: str, sentence: str, **values: Value) -> None:
        """Does nothing."""
