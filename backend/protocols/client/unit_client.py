"""The client side of work units as a machine without I/O; `protocol/units/unit-client.ts` is its mirror.

It works on several units at once: one is fetched and another sent while one is trained. The host performs
the effects and reports events; tests/contract/vectors/worker.json holds conversations that both languages
replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec.structs import replace

from backend.protocols.client.connection import ConnectionState, TaskConnection
from backend.protocols.client.participant_events import Close, Connected, Disconnected, Load, StopParticipant
from backend.protocols.client.unit_client_events import (
    Effect,
    Event,
    Fetched,
    FinishUnit,
    GiveBack,
    HeartbeatDue,
    SendUnitFrame,
    StartUnitClient,
    UnitBundleLoaded,
    UnitFailed,
    UnitFrame,
    UnitTrained,
    WantUnits,
    WindDown,
)
from backend.protocols.client.units_in_hand import HeldUnit, HeldUnits, UnitStage
from backend.wire import unit_messages
from backend.wire.messages import Closing, Credit, Leave, Ready


class UnitClientPhase(StrEnum):
    """The phase of the client, which its page or terminal explains.

    RESTING: it has no unit and wants none. WAITING: the server has no unit for it.
    """

    STOPPED = "stopped"
    CONNECTING = "connecting"
    OFFLINE = "offline"
    LOADING = "loading"
    WAITING = "waiting"
    RESTING = "resting"
    FETCHING = "fetching"
    TRAINING = "training"
    UPLOADING = "uploading"
    FINISHED = "finished"


@dataclass
class UnitClientMachine:
    """The client of one task's work units, over all its connections. Owned by its host alone.

    An event that does not fit the state has no effects and changes nothing. Each lease that it fetched is
    forgotten exactly once.
    """

    connection: TaskConnection = field(default_factory=TaskConnection)
    enlist: unit_messages.Enlist | None = None
    bundle: str | None = None
    ready: Ready | None = None
    slots: int = 0
    at_once: int = 1
    offline: int = 0
    # Why units are given back while there are no slots.
    cause: unit_messages.Cause = "paused"
    hand: HeldUnits = field(default_factory=HeldUnits)
    # Checkpointed leases of an earlier session that are still to be fetched: other units come after them.
    checkpointed: frozenset[int] = frozenset()
    # Leases whose results are compared.
    waiting: frozenset[int] = frozenset()
    counted: int = 0
    blended: int = 0
    rejected: int = 0
    examples: int = 0
    idle: str | None = None
    standing: unit_messages.Standing | None = None
    board: unit_messages.Board | None = None
    reason: str | None = None

    @property
    def held(self) -> Mapping[int, HeldUnit]:
        """The units that it works on by lease, in the order in which they arrived."""
        return self.hand.held

    @property
    def phase(self) -> UnitClientPhase:
        if away := self.connection.away:
            return UnitClientPhase(away)
        if self.ready is None:
            return UnitClientPhase.LOADING
        if self.board is not None and self.board.phase == "finished":
            return UnitClientPhase.FINISHED
        stages = self.hand.stages
        if UnitStage.TRAINING in stages:
            return UnitClientPhase.TRAINING
        if stages & {UnitStage.FETCHING, UnitStage.QUEUED}:
            return UnitClientPhase.FETCHING
        if stages:
            return UnitClientPhase.UPLOADING
        return UnitClientPhase.WAITING if self.slots else UnitClientPhase.RESTING

    def handle(self, event: Event) -> list[Effect]:
        """Changes the state by one event and returns what the host has to do, in order."""
        match event:
            case StartUnitClient():
                return self._start(event)
            case Connected():
                return self._connected()
            case UnitFrame(frame):
                return self._frame(frame)
            case UnitBundleLoaded(backend, step_ms, program, checkpointed):
                ready = Ready(backend=backend, step_ms=step_ms, examples=0, program=program)
                return self._loaded(ready, checkpointed)
            case WantUnits(slots, at_once, offline):
                self.slots, self.at_once, self.offline = slots, at_once, offline
                return [*self._say_want(), *self._advance()]
            case Fetched(lease):
                return self._fetched(lease)
            case UnitTrained():
                return self._trained(event)
            case UnitFailed(lease, cause):
                return [*self._release(lease, cause), *self._want_after(lease), *self._advance()]
            case HeartbeatDue(lease, steps):
                return self._say(unit_messages.Beat(lease=lease, steps=steps)) if lease in self.held else []
            case GiveBack(cause):
                self.cause = cause
                return self._give_back(cause)
            case WindDown(cause):
                return self._wind_down(cause)
            case Disconnected(random):
                return self._disconnected(random)
            case StopParticipant():
                return self._stop()

    def _start(self, event: StartUnitClient) -> list[Effect]:
        if not self.connection.is_closed:
            return []
        self.enlist, self.slots, self.at_once = event.enlist, event.slots, event.at_once
        self.offline = 0
        self.reason = self.board = None
        self.connection, connect = self.connection.started()
        return [connect]

    def _connected(self) -> list[Effect]:
        if self.enlist is None or not self.connection.awaits_greeting:
            return []
        self.connection = self.connection.greeted()
        return [SendUnitFrame(self.enlist)]

    def _disconnected(self, random: float) -> list[Effect]:
        self.checkpointed = frozenset()
        self.connection, again = self.connection.disconnected(random)
        self.idle = None if again else self.idle
        return [*again]

    def _stop(self) -> list[Effect]:
        if self.connection.is_closed:
            return []
        released = self._give_back("stopping")
        farewell: list[Effect] = [SendUnitFrame(Leave())] if self.connection.is_open else []
        self.connection = self.connection.closed()
        return [*released, *farewell, Close(), *self.hand.forget_all()]

    def _loaded(self, ready: Ready, checkpointed: list[int]) -> list[Effect]:
        if self.bundle is None or self.ready is not None or self.enlist is None:
            return []
        self.ready, self.enlist = ready, replace(self.enlist, backend=ready.backend)
        # The server repeats these, where nobody else has got them, or drops them.
        beats = [
            frame for lease in checkpointed for frame in self._say(unit_messages.Beat(lease=lease, steps=0))
        ]
        self.checkpointed = frozenset(checkpointed)
        return [*self._say(ready), *beats, *([] if checkpointed else self._say_want())]

    def _say_want(self) -> list[Effect]:
        return self._say(unit_messages.Want(slots=self.slots, offline=self.offline))

    def _want_after(self, lease: int) -> list[Effect]:
        """Wants other units after `lease`, if it was the last checkpointed one."""
        if lease not in self.checkpointed:
            return []
        self.checkpointed -= {lease}
        return [] if self.checkpointed else self._say_want()

    def _fetched(self, lease: int) -> list[Effect]:
        if self.enlist is None or (unit := self.hand.fetched(lease)) is None:
            return []
        mine = unit.shard.sha256
        others = [one for one in self.enlist.shards if one != mine]
        self.enlist = replace(self.enlist, shards=[*others, mine][-unit_messages.MOST_HELD :])
        return [*self._advance(), *self._want_after(lease)]

    def _trained(self, event: UnitTrained) -> list[Effect]:
        result = unit_messages.Result(
            lease=event.lease,
            examples=event.examples,
            steps=event.steps,
            loss=event.loss,
            sums=event.sums,
            size=event.size,
            commitment=event.commitment,
            checkpoints=event.checkpoints,
        )
        trained = self.hand.trained(result, event.salt)
        return [*self._say(result), *self._advance()] if trained else []

    def _wind_down(self, cause: unit_messages.Cause) -> list[Effect]:
        self.slots, self.offline, self.cause = 0, 0, cause
        effects = self._say_want()
        for lease, one in list(self.held.items()):
            if one.stage is UnitStage.TRAINING:
                effects.append(FinishUnit(lease))
            else:
                effects += self._release(lease, cause)
        return effects

    def _frame(self, frame: unit_messages.ServerToUnits) -> list[Effect]:
        """Handles Enlisted and Closing before the client is enlisted, and everything but Enlisted after."""
        match frame, self.connection.state:
            case unit_messages.Enlisted(bundle=bundle), ConnectionState.GREETED:
                return self._enlisted(bundle)
            case Closing(), ConnectionState.GREETED | ConnectionState.OPEN:
                self.reason, self.connection = frame.reason, self.connection.dismissed(frame)
                return [Close(), *self.hand.forget_all()] if self.connection.is_closed else []
            case unit_messages.Unit(), ConnectionState.OPEN:
                return self._unit(frame)
            case unit_messages.Drop(lease=lease), ConnectionState.OPEN:
                dropped = self.hand.lacks_result(lease)
                forgotten = [*self.hand.forget(lease), *self._advance()] if dropped else []
                return [*forgotten, *self._want_after(lease)]
            case Credit(round=lease, until=until), ConnectionState.OPEN:
                return self.hand.send(lease, until)
            case unit_messages.OpenCommitment(lease=lease), ConnectionState.OPEN:
                salt = self.hand.salt_of(lease)
                return [] if salt is None else self._say(unit_messages.Salt(lease=lease, salt=salt))
            case unit_messages.Taken(lease=lease, waits=waits), ConnectionState.OPEN:
                return self._taken(lease, waits)
            case unit_messages.Counted(lease=lease, examples=examples, blended=blended), ConnectionState.OPEN:
                self.counted += 1
                self.blended += blended
                self.examples += examples
                return self._decided(lease)
            case unit_messages.Rejected(lease=lease, reason=reason), ConnectionState.OPEN:
                self.rejected += 1
                self.reason = reason
                return self._decided(lease)
            case unit_messages.Idle(cause=cause), ConnectionState.OPEN:
                self.idle = cause
            case unit_messages.Standing(), ConnectionState.OPEN:
                self.standing = frame
            case unit_messages.Board(), ConnectionState.OPEN:
                self.board = frame
                return self.hand.forget_all() if frame.phase == "finished" else []
        return []

    def _enlisted(self, bundle: str) -> list[Effect]:
        self.connection = self.connection.welcomed()
        if self.bundle != bundle:
            # The first visit, or the task's model was converted again while the client was away.
            self.bundle, self.ready = bundle, None
            return [*self.hand.forget_all(), Load(bundle)]
        if self.ready is None:
            return []
        effects = [*self._say(self.ready), *self._say_want()]
        for result in self.hand.resend():
            effects += self._say(result)
        return effects

    def _unit(self, unit: unit_messages.Unit) -> list[Effect]:
        if self.ready is None:
            return []
        if self.hand.has(unit):
            # The server repeats units after a reconnection.
            return []
        forgotten = self.hand.forget(unit.lease)
        self.idle = None
        if not self.slots or len(self.held) >= unit_messages.MOST_SLOTS:
            return [
                *forgotten,
                *self._say(unit_messages.Release(lease=unit.lease, cause=self.cause)),
                *self._advance(),
            ]
        return [*forgotten, *self.hand.take(unit), *self._advance()]

    def _taken(self, lease: int, waits: bool) -> list[Effect]:
        if not self.hand.has_result(lease):
            return []
        if waits:
            self.waiting |= {lease}
        return self.hand.forget(lease)

    def _decided(self, lease: int) -> list[Effect]:
        """Forgets a unit whose result was counted or rejected."""
        self.waiting -= {lease}
        return [*self.hand.forget(lease), *self._advance()]

    def _advance(self) -> list[Effect]:
        return self.hand.begin(self.at_once)

    def _give_back(self, cause: unit_messages.Cause) -> list[Effect]:
        return [effect for lease in list(self.held) for effect in self._release(lease, cause)]

    def _release(self, lease: int, cause: unit_messages.Cause) -> list[Effect]:
        """Gives back a unit without a result. After a lost connection the server learns of it later."""
        if not self.hand.lacks_result(lease):
            return []
        return [*self._say(unit_messages.Release(lease=lease, cause=cause)), *self.hand.forget(lease)]

    def _say(self, frame: unit_messages.UnitsToServer) -> list[Effect]:
        """Sends a frame if the server knows that this client is ready; otherwise it is sent after that."""
        return [SendUnitFrame(frame)] if self.connection.is_open and self.ready is not None else []
