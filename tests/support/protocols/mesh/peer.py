"""A peer of a mesh on virtual time: its machines, and a host that trains and averages without values.

The host does what `MeshSession` does, in the same order: events of the server, of jobs and of the peers'
agreements wait in one inbox, while frames of other peers reach the rounds without the server at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from backend.peer.mesh.serverless_runner import serverless_event
from backend.protocols.client import participant_events
from backend.protocols.mesh import member_events
from backend.protocols.mesh.member import MeshMember
from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.mesh_messages import Enter, Group, PeerToServer, ServerToPeer
from backend.wire.messages import Evaluate, Train
from tests.support.protocols.mesh.clock import Line
from tests.support.protocols.mesh.server import PATIENCE

if TYPE_CHECKING:
    from tests.support.protocols.mesh.world import MeshWorld

# As the cache of a peer's weights.
MOST_CACHED = 2


@dataclass
class Job:
    """A training or an evaluation."""

    order: Train | Evaluate
    aborted: bool = False


class VirtualPeer:
    """Owns the machines of the peer `name`; `work` is the base of what it trained last."""

    def __init__(self, world: MeshWorld, name: str, salt: int) -> None:
        self.world, self.clock, self.name = world, world.clock, name
        self.machine = MeshMember()
        self.serverless = ServerlessRounds(name, True, salt)
        self.work: str | None = None
        self.cached: list[str] = []
        self.connection = 0
        self.paused_until = 0.0
        # Groups of which another member has begun.
        self._early: set[tuple[int, int]] = set()
        self._inbox = Line(self.clock, 0.02)
        self._upstream = Line(self.clock, 0.05)
        self._training: Job | None = None
        self._measuring: Job | None = None
        # The number of the next attempt to connect, and whether it only waits for its time.
        self._attempt, self._is_scheduled = 0, False
        self._alarm: float | None = None

    def start(self) -> None:
        """Enters the mesh."""
        enter = Enter(
            token=self.name * 2, kind="peer", backend="cpu", agent="", identity=bytes(32), ways=["relay"],
            address=None, round=0, holds=None, certificate=None,
        )  # fmt: skip
        self.post(member_events.EnterMesh(enter))

    def keep(self, weights: str) -> None:
        """Keeps weights in the cache."""
        self.cached = [*(one for one in self.cached if one != weights), weights][-MOST_CACHED:]

    @property
    def is_paused(self) -> bool:
        """Whether its process is stopped; what comes meanwhile waits."""
        return self.clock.now < self.paused_until

    # The session.

    def post(self, event: member_events.Event) -> None:
        """Puts an event into the inbox."""
        self._inbox.send(partial(self._handle, event))

    def _handle(self, event: member_events.Event) -> None:
        if self.is_paused:
            self.clock.at(self.paused_until, partial(self._handle, event))
            return
        group = self.machine.in_hand.group
        for effect in self.machine.handle(event):
            self._perform(effect)
        seen = serverless_event(event, self.machine, group)
        if seen is not None:
            self.take(seen)
        if isinstance(seen, serverless_events.ServerReached):
            for key in sorted(self._early):
                self._answer(key)

    def _perform(self, effect: member_events.Effect) -> None:
        match effect:
            case participant_events.Connect(delay):
                self._attempt, self._is_scheduled = self._attempt + 1, True
                self.clock.at(self.clock.now + delay, partial(self._connect, self._attempt))
            case member_events.SendToServer(frame):
                self._send(frame)
            case participant_events.Load():
                loaded = participant_events.BundleLoaded("cpu", 10.0, 0)
                self.clock.after(0.01, 1.0, partial(self.post, loaded))
            case participant_events.StartTraining(plan):
                self._training = Job(plan)
                self._train(self._training)
            case participant_events.AbortTraining():
                if self._training:
                    self._training.aborted = True
            case member_events.Average(group):
                self.world.groups.join(group, self)
            case member_events.AbortAveraging():
                self.world.groups.leave(self)
            case member_events.UploadDeposit(weights) if weights in self.cached:
                self.clock.after(0.05, 0.5, partial(self.world.server.deposit, weights))
            case participant_events.MeasureVersion(request):
                self._measuring = Job(request)
                self.clock.after(0.0, self.world.slowness, partial(self._measured, self._measuring))
            case participant_events.AbortMeasuring():
                if self._measuring:
                    self._measuring.aborted = True
            case _:
                pass

    def _train(self, job: Job) -> None:
        """Trains once the weights are here, or with a peer that is linked, or at the server."""
        if job.aborted:
            return
        if job.order.weights not in self.cached and not self.world.reaches(self, job.order.weights):
            self.clock.at(self.clock.now + 1.0, partial(self._train, job))
            return
        self.keep(job.order.weights)
        self.clock.after(0.05 * self.world.slowness, self.world.slowness, partial(self._trained, job))

    def _trained(self, job: Job) -> None:
        if not job.aborted:
            self.work = job.order.weights
            self.world.trainings[self.name] = self.clock.now
            self.post(member_events.PlanTrained(job.order.round, 10, 2, 0.5, [(1.0, 4.0)]))

    def _measured(self, job: Job) -> None:
        if not job.aborted and isinstance(job.order, Evaluate):
            self.post(
                participant_events.VersionMeasured(job.order.round, job.order.version, 4, 1.0, [(1.0, 4.0)])
            )

    # The connection to the server.

    def _connect(self, attempt: int) -> None:
        if self.is_paused:
            self.clock.at(self.paused_until, partial(self._connect, attempt))
            return
        if attempt != self._attempt:
            return
        self._attempt, self._is_scheduled = self._attempt + 1, False
        if self.world.is_reachable(self):
            self.connection = self.world.accept(self)
            self._upstream = Line(self.clock, 0.05)
            self.post(participant_events.Connected())
        else:
            self._lost()

    def connection_lost(self, number: int) -> None:
        """The connection of that number ended."""
        if number == self.connection:
            self.connection = 0
            self._lost()

    def _lost(self) -> None:
        self.post(participant_events.Disconnected(self.clock.random.random()))

    def _send(self, frame: PeerToServer) -> None:
        if self.connection:
            self._upstream.send(partial(self.world.server.receive, self.name, self.connection, frame))

    def frame_received(self, number: int, frame: ServerToPeer) -> None:
        """A frame came over the connection of that number."""
        if number == self.connection:
            self.post(member_events.ServerFrame(frame))

    # Rounds without the server.

    def take(self, event: serverless_events.Event) -> None:
        """Gives an event to the rounds without the server, and performs what they ask for."""
        if self.is_paused:
            self.clock.at(self.paused_until, partial(self.take, event))
            return
        for effect in self.serverless.happened(event, self.clock.now):
            match effect:
                case serverless_events.SendToPeers(clients, frame):
                    for client in clients:
                        received = serverless_events.PeerFrameReceived(self.name, frame)
                        self.world.send(self.name, client, received)
                case serverless_events.Agree(frame):
                    if isinstance(frame, Train):
                        self.world.led += 1
                    self.post(member_events.Agreed(frame))
                case serverless_events.ReconnectNow():
                    if self._is_scheduled:
                        self._connect(self._attempt)
        self._set_alarm()

    def _set_alarm(self) -> None:
        due = self.serverless.timer()
        if due != self._alarm:
            self._alarm = due
            if due is not None:
                self.clock.at(due, partial(self._ring, due))

    def _ring(self, due: float) -> None:
        if self._alarm == due:
            self._alarm = None
            self.take(serverless_events.ServerlessTimePassed())

    # Groups.

    def averaged(self, order: Group, weights: str, survivors: list[int]) -> None:
        """This peer's group has a result."""
        self.keep(weights)
        self.post(
            member_events.GroupAveraged(order.round, order.group, weights, survivors, 1.0, 0.5, bytes(64))
        )

    def failed(self, order: Group) -> None:
        """This peer's group has none for it."""
        self.post(member_events.GroupFailed(order.round, order.group, "Lost."))

    def begin_received(self, key: tuple[int, int]) -> None:
        """Another member of a group has begun."""
        if self.is_paused:
            self.clock.at(self.paused_until, partial(self.begin_received, key))
            return
        self._early.add(key)
        self._answer(key)
        self.clock.at(self.clock.now + PATIENCE, partial(self.world.groups.decline_late, key, self.name))

    def _answer(self, key: tuple[int, int]) -> None:
        """Says that this peer never joins a group, if that is so."""
        if self.machine.declines(*key):
            self.clock.after(0.0, 0.1, partial(self.world.groups.decline, key, self.name))
