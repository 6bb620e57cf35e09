"""A server of a mesh on virtual time: it may be killed, and starts again from what it had recorded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from backend.protocols.mesh import coordinator_effects
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.holdings import ProvenResult
from backend.protocols.rounds.round_effects import Abandon, RecordEvaluation, SendEvaluate
from backend.server.hosting.clients.connected_clients import wire_phase
from backend.wire import mesh_messages, messages
from backend.wire.mesh_fields import Outer
from tests.support.protocols.mesh.clock import Line
from tests.support.protocols.mesh_coordinator import AVERAGES, ZERO
from tests.support.protocols.rounds import PLAN

if TYPE_CHECKING:
    from tests.support.protocols.mesh.world import MeshWorld

DEADLINE, PATIENCE = 300.0, 2.0
BUNDLE, RUN = "b" * 64, "e" * 64
# A connection of a peer: its number, which no other connection has, and the line to the peer.
Connection = tuple[int, Line]


@dataclass
class Records:
    """What is on the server's disk."""

    opening: int = 0
    round: int = 0
    version: int = 0
    weights: str = ZERO
    weights_round: int = 0
    blobs: set[str] = field(default_factory=lambda: {ZERO})


class Server:
    """Owns the coordinator while it runs, and the records at all times. `life` counts its starts."""

    def __init__(self, world: MeshWorld, minimum: int, evaluate: float) -> None:
        self.world, self.clock = world, world.clock
        self.records = Records()
        self.machine: MeshCoordinator | None = None
        self.connections: dict[str, Connection] = {}
        self._plan = replace(
            PLAN, rounds=10**6, min_available_clients=minimum, deadline=DEADLINE, fraction_evaluate=evaluate
        )
        self._averages = replace(AVERAGES, patience=PATIENCE, seconds=DEADLINE)
        self._told: messages.State | None = None

    def start(self) -> None:
        """Starts, from the records."""
        records = self.records
        records.opening += 1
        self.machine = MeshCoordinator(
            self._plan, self._averages, records.weights, records.weights_round, records.round,
            records.version, records.opening,
        )  # fmt: skip
        self._tick(records.opening)

    def kill(self) -> None:
        """Ends at once, with all connections and all that was not recorded."""
        self.machine, self._told = None, None
        for name in list(self.connections):
            self.disconnect(name)

    def disconnect(self, name: str) -> None:
        """Ends a peer's connection at both ends."""
        connection = self.connections.pop(name, None)
        if connection is not None:
            self.world.peers[name].connection_lost(connection[0])
            if self.machine is not None and name in self.machine.attendance:
                self._perform(self.machine.client_left(name, self.clock.now, lost=True))

    # Frames of peers.

    def receive(self, name: str, number: int, frame: mesh_messages.PeerToServer) -> None:
        """Takes a frame of a connection; one that has ended delivers nothing any more."""
        machine, connection = self.machine, self.connections.get(name)
        if machine is None or connection is None or connection[0] != number:
            return
        if isinstance(frame, mesh_messages.Enter):
            self._enter(machine, name, frame)
        elif name in machine.attendance:
            self._perform(self._take(machine, name, frame))

    def _enter(self, machine: MeshCoordinator, name: str, frame: mesh_messages.Enter) -> None:
        records, certificate = self.records, frame.certificate
        outer = Outer(kind="fedavg", learning_rate=1.0, momentum=0.0)
        entered = mesh_messages.Entered(
            task="digits", client=name, bundle=BUNDLE, run=RUN, round=records.weights_round,
            version=records.version, weights=records.weights, outer=outer, ice=[],
        )  # fmt: skip
        self.tell(name, entered)
        proven = None
        if certificate is not None and certificate.weights == frame.holds:
            # Certificates are not checked here: each one is believed.
            members = frozenset(certificate.survivors)
            proven = ProvenResult(certificate.round, certificate.weights, members, members)
        # The newcomer gets the state, too.
        self._told = None
        self._perform(machine.peer_entered(name, self.clock.now, proven))

    def _take(
        self, machine: MeshCoordinator, name: str, frame: mesh_messages.PeerToServer
    ) -> list[coordinator_effects.Effect]:
        now = self.clock.now
        match frame:
            case messages.Ready():
                return machine.client_ready(name, now, frame.step_ms, frame.examples)
            case mesh_messages.Trained():
                return machine.peer_trained(name, frame, now)
            case mesh_messages.Averaged():
                if machine.group_of(name, frame.round, frame.group) is None:
                    return machine.peer_reported(name, now)
                return machine.peer_averaged(name, frame, now)
            case mesh_messages.Failed():
                return machine.peer_failed(name, frame, now)
            case messages.Evaluation():
                return machine.evaluation_arrived(name, frame, now)
        return []

    def deposit(self, weights: str) -> None:
        """A peer uploaded these weights."""
        if self.machine is not None:
            self._perform(self.machine.deposited(weights))

    # What the coordinator asks for.

    def tell(self, name: str, frame: mesh_messages.ServerToPeer) -> None:
        """Sends a frame to a peer, if it is connected."""
        if name in self.connections:
            number, line = self.connections[name]
            line.send(partial(self.world.peers[name].frame_received, number, frame))

    def _perform(self, effects: Iterable[coordinator_effects.Effect]) -> None:
        for effect in effects:
            match effect:
                case coordinator_effects.SendMeshTrain():
                    self.tell(effect.client, train(effect))
                case coordinator_effects.SendGroup(client, group):
                    self.tell(client, group)
                case coordinator_effects.AskDeposit(client, number, weights):
                    self.tell(client, mesh_messages.Deposit(round=number, weights=weights))
                case coordinator_effects.RecordWeights(outcome):
                    self.clock.after(0.01, 0.5, partial(self._record, self.records.opening, outcome))
                case SendEvaluate(client, number, version, _, seconds):
                    weights = self.records.weights
                    self.tell(
                        client,
                        messages.Evaluate(
                            round=number, version=version, weights=weights, shards=[], seconds=seconds
                        ),
                    )
                case RecordEvaluation(version, loss, metrics):
                    self._tell_all(
                        messages.Evaluated(version=version, source="clients", loss=loss, metrics=metrics)
                    )
                case Abandon(number, reason):
                    self._tell_all(messages.Abandoned(round=number, reason=reason))
                    self.clock.after(0.01, 0.1, partial(self._record_abandoned, self.records.opening, number))
                case _:
                    pass

    def _record(self, life: int, outcome: coordinator_effects.MeshOutcome) -> None:
        machine, records = self.machine, self.records
        if machine is None or records.opening != life:
            return
        records.version, records.weights = records.version + 1, outcome.weights
        records.round = records.weights_round = outcome.round
        records.blobs.add(outcome.weights)
        made = messages.Version(
            version=records.version, round=outcome.round, weights=outcome.weights, accepted=0, examples=0,
            loss=0.0, metrics={},
        )  # fmt: skip
        self._tell_all(made)
        self._perform(machine.recorded(records.version, self.clock.now))

    def _record_abandoned(self, life: int, number: int) -> None:
        if self.machine is not None and self.records.opening == life:
            self.records.round = max(self.records.round, number)

    def _tell_all(self, frame: mesh_messages.ServerToPeer) -> None:
        for name in self.connections:
            self.tell(name, frame)

    def _tick(self, life: int) -> None:
        """Does what is due, and sends a changed state, four times a second."""
        machine, now = self.machine, self.clock.now
        if machine is None or self.records.opening != life:
            return
        timer = machine.timer()
        if timer is not None and now >= timer:
            self._perform(machine.time_passed(now))
        state = messages.State(
            phase=wire_phase(machine.phase), round=machine.round, version=machine.version,
            needed=machine.needed(), cohort=0, reported=0, quorum=2, seconds=None, participants=[],
        )  # fmt: skip
        if state != self._told:
            self._told = state
            self._tell_all(state)
        self.clock.at(now + 0.25, partial(self._tick, life))


def train(order: coordinator_effects.SendMeshTrain) -> messages.Train:
    """Returns the frame of an order to train."""
    return messages.Train(
        round=order.round, version=order.version, weights=order.weights, epochs=1, steps=0, batch_size=8,
        learning_rate=0.1, past_steps=0, seed=order.seed, proximal_mu=0.0, control=None, masking=None,
        privacy=None,
        shards=[messages.Shard(sha256=f"{number:064x}", examples=10) for number in order.shards],
        seconds=order.seconds,
    )  # fmt: skip
