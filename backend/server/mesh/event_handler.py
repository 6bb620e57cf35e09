"""Passes events of a mesh to its machine: frames, owner's commands, results of jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from backend.crypto.certificates import certified, weights_statement
from backend.crypto.client_keys import verify
from backend.errors import MingaError, ReplacedError
from backend.numerics.vectors import Vector
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.coordinator_effects import Effect
from backend.server.hosting import host_events, task_frames
from backend.server.hosting.client_link import ClientLink
from backend.server.hosting.connected_clients import ConnectedClients
from backend.server.hosting.owner_commands import command
from backend.server.mesh import mesh_host_events
from backend.server.mesh.mesh_host_events import MeshHostEvent
from backend.server.mesh.peer_list import Peer, Peers
from backend.server.observers import task_events
from backend.server.tasks.task import Task
from backend.wire import mesh_messages, messages


@dataclass
class MeshEventHandler:
    """Translates each event into calls of the machine. Methods return the effects to perform.

    `greeting` returns the first message to a peer that enters. `brought` are the weights that a peer
    uploaded last, until they are recorded.
    """

    task: Task
    machine: MeshCoordinator
    connected: ConnectedClients
    peers: Peers
    notice: Callable[[task_events.TaskEvent], None]
    greeting: Callable[[str], mesh_messages.Entered]
    brought: Vector | None = None

    def handle(self, event: MeshHostEvent, now: float) -> Sequence[Effect]:
        """Passes `event`, which happened at `now`, to the machine."""
        match event:
            case host_events.FrameReceived():
                return self._receive(event.client, event.link, event.message, now)
            case mesh_host_events.PeerEntered(peer, result):
                return self._enter(peer, result, now)
            case host_events.ConnectionLost():
                return self._leave(event.client, event.link, now, lost=True)
            case host_events.ClientsDismissed():
                return self._dismiss(event.clients, event.error, now)
            case host_events.PauseRequested() | host_events.ResumeRequested() | host_events.FinishRequested():
                return command(self.machine, event, now)
            case mesh_host_events.WeightsDeposited(address, weights):
                if self.machine.wants(address):
                    self.brought = weights
                return self.machine.deposited(address)
            case host_events.VersionWritten(version):
                self.connected.tell_all(task_frames.made(version))
                return self.machine.recorded(version.version, now)
            case host_events.VersionFailed(reason):
                return self.machine.not_recorded(reason, now)
            case host_events.EvaluationWritten(found):
                self.connected.tell_all(task_frames.evaluated(found))
                self.notice(task_events.VersionEvaluated(found))
                return self.machine.version_evaluated(found.version, found.source, found.loss, found.metrics)

    # Peers.

    def _enter(self, peer: Peer, result: tuple[int, str] | None, now: float) -> list[Effect]:
        """Adds a peer; closes its older connection. `result` is the return value of `shown`."""
        client, effects = peer.client, list[Effect]()
        older = self.peers.here.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection goes on."))
            effects += self._leave(client.id, older.link, now, lost=True)
        self.peers.here[client.id] = peer
        self.connected.add(client)
        self.connected.tell(client.id, self.greeting(client.id))
        self.connected.welcome(client.id, now)
        self.peers.changed(now)
        self.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        return [*effects, *self.machine.peer_entered(client.id, now, result)]

    def shown(self, enter: mesh_messages.Enter) -> tuple[int, str] | None:
        """Returns round and weights of the result that a peer proves by a valid certificate; None without."""
        shown = enter.certificate
        if shown is None or shown.weights != enter.holds or shown.bundle != self.task.bundle.address:
            return None
        known = {one.client.id: one.identity for one in self.peers.here.values()}
        if any(known.get(one.client, one.identity) != one.identity for one in shown.signatures):
            return None
        return (shown.round, shown.weights) if certified(shown, self.task.file.name) else None

    def _leave(self, client: str, link: ClientLink, now: float, lost: bool) -> list[Effect]:
        """Removes a peer that left or whose connection was `lost`."""
        if self._current(client, link) is None:
            return []
        del self.peers.here[client], self.connected.clients[client]
        self.peers.changed(now)
        self.notice(task_events.ClientLeft(client, lost))
        return self.machine.client_left(client, now, lost)

    def _dismiss(self, clients: Collection[str] | None, error: MingaError, now: float) -> list[Effect]:
        """Closes the connections of peers that the owner dismissed."""
        effects: list[Effect] = []
        for client in list(self.peers.here) if clients is None else clients:
            here = self.peers.here.get(client)
            if here is not None:
                here.link.close(error)
                effects += self._leave(client, here.link, now, lost=False)
        return effects

    def _receive(
        self, client: str, link: ClientLink, message: mesh_messages.PeerToServer, now: float
    ) -> Sequence[Effect]:
        """Handles a message after the peer's Enter."""
        peer = self._current(client, link)
        if peer is None:
            return []  # The peer was replaced, or left, while the message was in transit.
        match message:
            case messages.Ready():
                peer.client.backend = message.backend
                self.connected.add(peer.client)
                self.peers.changed(now)
                return self.machine.client_ready(client, now, message.step_ms, self._own(message.examples))
            case mesh_messages.Trained():
                self._holds(peer, max(0, message.round - 1), message.base, now)
                return self.machine.peer_trained(client, message, now)
            case mesh_messages.Averaged():
                return self._averaged(peer, message, now)
            case mesh_messages.Failed():
                return self.machine.peer_failed(client, message, now)
            case messages.Evaluation():
                return self.machine.evaluation_arrived(client, message, now)
            case mesh_messages.Links():
                peer.measures = message.links
                self.machine.links_measured(client, message.links)
            case messages.Leave():
                return self._leave(client, link, now, lost=False)
        return []

    def _own(self, examples: int) -> int:
        """The examples of its own that a peer may say it has: what it says is what it may weigh."""
        own = self.task.file.data.own
        return min(examples, own.maximum) if own else examples

    def _averaged(self, peer: Peer, said: mesh_messages.Averaged, now: float) -> Sequence[Effect]:
        client = peer.client.id
        self._holds(peer, said.round, said.weights, now)
        group = self.machine.group_of(client, said.round, said.group)
        if group is None:
            return self.machine.peer_reported(client, said, now)
        survivors = [group.members[place] for place in said.survivors if place < len(group.members)]
        statement = weights_statement(
            self.task.file.name, self.task.bundle.address, said.round, said.group, survivors, said.weights
        )
        if not verify(peer.identity, said.signature, statement):
            failed = mesh_messages.Failed(
                round=said.round, group=said.group, reason="A report was not signed by its peer."
            )
            return self.machine.peer_failed(client, failed, now)
        return self.machine.peer_averaged(client, said, now)

    def _holds(self, peer: Peer, number: int, weights: str, now: float) -> None:
        if peer.holds != weights:
            peer.round, peer.holds = number, weights
            self.peers.changed(now)

    def _current(self, client: str, link: ClientLink) -> Peer | None:
        peer = self.peers.here.get(client)
        return peer if peer is not None and peer.link is link else None
