"""A light client of a task of work units: honest, late, killed or cheating."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from backend.numerics.vectors import to_bytes
from backend.wire.codec import encode
from backend.wire.messages import CHUNK_BYTES, Chunk, Closing, Credit, Ready
from backend.wire.unit_messages import (
    UNITS_PROTOCOL,
    Beat,
    Counted,
    Drop,
    Enlist,
    Enlisted,
    Rejected,
    Result,
    Standing,
    Taken,
    Unit,
    UnitsToServer,
    Want,
)
from backend.wire.units_codec import decode_to_units
from benchmarks.units.clients.false_results import LIES
from benchmarks.units.clients.shared_trainer import Done, SharedTrainer

# The codes by which a comparison rejects a false result.
FALSE = ("invalid", "unlike")


@dataclass(frozen=True)
class Character:
    """A client's behaviour.

    - `late`: it reports nothing until its lease is over.
    - `dies_at`: its connection is cut while it trains this unit of its own, counted from 1; 0: never.
    - `lie`: how it cheats, a key of LIES, once `from_held` of its results in a row were accepted; "": it does
      not cheat.
    """

    late: bool = False
    dies_at: int = 0
    lie: str = ""
    from_held: int = 0


@dataclass
class Diary:
    """The history of a client: its leases by its own results and by the server's answers.

    `rejected` leases were judged false, `unused` ones came too late for a comparison; `codes` are those of
    both.
    """

    client: str = ""
    died: bool = False
    units: int = 0
    late: int = 0
    lies: list[int] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    blended: list[int] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    unused: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    closed: str = ""


class Volunteer:
    """Owns its connection, from `run` to its end, and one unit at a time.

    `report_event` is called with an event and the client's public id: `caught` when a lie is rejected, `died`
    when its connection is cut, `late` when a result came after its deadline.
    """

    def __init__(
        self,
        address: str,
        task: str,
        trainer: SharedTrainer,
        character: Character,
        token: str,
        report_event: Callable[[str, str], None],
    ) -> None:
        self._url = f"ws://{address}/api/tasks/{task}/socket"
        self._trainer, self._character, self._token = trainer, character, token
        self._checked_results = 0
        self._socket: ClientConnection
        self._units: asyncio.Queue[Unit] = asyncio.Queue()
        self._answers: asyncio.Queue[Credit | Taken | Rejected] = asyncio.Queue()
        self._report_event = report_event
        self.diary = Diary()

    async def run(self) -> None:
        """Takes part until it is cancelled, dies, or the server ends the connection."""
        protocols = [Subprotocol(UNITS_PROTOCOL)]
        async with connect(self._url, subprotocols=protocols, max_size=1 << 20, open_timeout=600) as socket:
            self._socket = socket
            working = asyncio.create_task(self._work())
            try:
                await self._introduce()
                async for frame in socket:
                    assert isinstance(frame, bytes)
                    self._hear(decode_to_units(frame))
            except ConnectionClosed:
                pass
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)

    async def _introduce(self) -> None:
        await self._say(
            Enlist(token=self._token, kind="peer", backend="tensorflow-cpu", agent="chaos", shards=[])
        )
        await self._say(Ready(backend="tensorflow-cpu", step_ms=self._trainer.step_ms, examples=0))
        await self._say(Want(1))

    def _hear(self, message: Any) -> None:
        diary = self.diary
        match message:
            case Enlisted():
                diary.client = message.client
            case Unit():
                self._units.put_nowait(message)
            case Credit() | Taken():
                self._answers.put_nowait(message)
            case Rejected():
                is_false = message.code in FALSE
                (diary.rejected if is_false else diary.unused).append(message.lease)
                diary.codes.append(message.code)
                if is_false and message.lease in diary.lies:
                    self._report_event("caught", diary.client)
                self._answers.put_nowait(message)
            case Counted():
                diary.counted.append(message.lease)
                if message.blended:
                    diary.blended.append(message.lease)
            case Standing():
                self._checked_results = message.checked
            case Closing():
                diary.closed = message.code
            case Drop():
                # The result is sent nevertheless: the server examines unneeded results, too.
                pass

    async def _work(self) -> None:
        while True:
            unit = await self._units.get()
            self.diary.units += 1
            if self.diary.units == self._character.dies_at:
                await self._die()
                return
            beating = None if self._character.late else asyncio.create_task(self._beat(unit))
            try:
                await self._deliver(unit, await self._make(unit))
                if self._character.late:
                    self._report_event("late", self.diary.client)
            finally:
                if beating is not None:
                    beating.cancel()

    async def _die(self) -> None:
        """Aborts the connection in the middle of a unit, as a power failure would."""
        await asyncio.sleep(random.uniform(0.0, 0.2))
        self.diary.died = True
        self._socket.transport.abort()
        self._report_event("died", self.diary.client)

    async def _make(self, unit: Unit) -> Done:
        character = self._character
        if character.lie and self._checked_results >= character.from_held:
            self.diary.lies.append(unit.lease)
            return await LIES[character.lie](self._trainer, unit)
        result = await self._trainer.train(unit)
        if character.late:
            self.diary.late += 1
            await asyncio.sleep(unit.seconds + 1.0)
        return result

    async def _beat(self, unit: Unit) -> None:
        while True:
            await asyncio.sleep(unit.heartbeat)
            await self._say(Beat(lease=unit.lease, steps=0))

    async def _deliver(self, unit: Unit, result: Done) -> None:
        """Sends a result; returns when the server has taken or rejected it."""
        data, sent = to_bytes(result.update), 0
        await self._say(
            Result(
                lease=unit.lease,
                examples=result.examples,
                steps=result.steps,
                loss=result.loss,
                sums=result.sums,
                size=len(data),
            )
        )
        while True:
            answer = await self._answers.get()
            if isinstance(answer, Taken | Rejected):
                if answer.lease == unit.lease:
                    return
            elif answer.round == unit.lease:
                while sent < answer.until:
                    part = data[sent : min(answer.until, sent + CHUNK_BYTES)]
                    await self._say(Chunk(round=unit.lease, offset=sent, data=part))
                    sent += len(part)

    async def _say(self, message: UnitsToServer) -> None:
        await self._socket.send(encode(message))


def new_token() -> str:
    """Returns a new client secret."""
    return secrets.token_urlsafe(24)
