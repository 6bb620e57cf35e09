"""Passes events of a mesh to its machine: frames, owner's commands, results of jobs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from backend.crypto.client_keys import verify
from backend.errors import BannedByMembersError, CertificateError, MingaError, ReplacedError
from backend.numerics.vectors import Vector
from backend.protocols.mesh.byzantine.state_observer import StateObserver
from backend.protocols.mesh.coordinator import MeshCoordinator
from backend.protocols.mesh.coordinator_effects import Effect, RefuseReport
from backend.protocols.mesh.holdings import ProvenResult
from backend.server.hosting import host_events, task_frames
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.hosting.clients.connected_clients import ConnectedClients
from backend.server.hosting.clients.exact_clients import objection
from backend.server.hosting.owner_commands import command
from backend.server.mesh import mesh_host_events
from backend.server.mesh.mesh_host_events import MeshHostEvent
from backend.server.mesh.peer_list import Peer, Peers
from backend.server.mesh.recorded_groups import RecordedGroups
from backend.server.observers import task_events
from backend.server.tasks.task import Task
from backend.wire import mesh_messages, messages
from backend.wire.byzantine_messages import TellState

BANNED = (
    "The members of this mesh banned this device's key, on evidence that its work or its words were wrong."
)


@dataclass
class MeshEventHandler:
    """Translates each event into calls of the machine. Methods return the effects to perform.

    `greeting` returns the first message to a peer that enters. `observer` knows the states of a Byzantine
    mesh; None for other ones. `deposited` are the weights that a peer
    uploaded last, until they are recorded.
    """

    task: Task
    machine: MeshCoordinator
    connected: ConnectedClients
    peers: Peers
    notice: Callable[[task_events.TaskEvent], None]
    greeting: Callable[[str], mesh_messages.Entered]
    groups: RecordedGroups
    observer: StateObserver | None = None
    deposited: Vector | None = None

    def handle(self, event: MeshHostEvent, now: float) -> Sequence[Effect]:
        """Passes `event`, which happened at `now`, to the machine."""
        match event:
            case host_events.FrameReceived():
                return self._receive(event.client, event.link, event.message, now)
            case mesh_host_events.PeerEntered():
                return self._enter(event, now)
            case host_events.ConnectionLost():
                return self._leave(event.client, event.link, now, lost=True)
            case host_events.ClientsDismissed():
                return self._dismiss(event.clients, event.error, now)
            case host_events.PauseRequested() | host_events.ResumeRequested() | host_events.FinishRequested():
                return command(self.machine, self.connected, event, now)
            case mesh_host_events.WeightsDeposited(address, weights):
                if self.machine.wants(address):
                    self.deposited = weights
                return self.machine.deposited(address)
            case host_events.VersionWritten(version):
                self.connected.tell_all(task_frames.made(version))
                return self.machine.recorded(version.version, now)
            case host_events.VersionFailed(reason):
                return self.machine.not_recorded(reason, now)
            case host_events.EvaluationWritten(evaluation):
                self.connected.tell_all(task_frames.evaluated(evaluation))
                self.notice(task_events.VersionEvaluated(evaluation))
                return self.machine.version_evaluated(
                    evaluation.version, evaluation.source, evaluation.loss, evaluation.metrics
                )

    # Peers.

    def _enter(self, event: mesh_host_events.PeerEntered, now: float) -> list[Effect]:
        """Adds a peer; closes its older connection."""
        peer, client, effects = event.peer, event.peer.client, list[Effect]()
        older = self.peers.by_id.get(client.id)
        if older is not None:
            older.link.close(ReplacedError("You opened this task elsewhere; that connection continues."))
            effects += self._leave(client.id, older.link, now, lost=True)
        self.peers.by_id[client.id] = peer
        self.connected.add(client)
        self.connected.tell(client.id, self.greeting(client.id))
        self.connected.welcome(client.id, now)
        self.peers.changed(now)
        self.notice(task_events.ClientJoined(client.id, client.kind, client.backend))
        result, refused = None, list[Effect]()
        if event.certificate is not None and event.certificate.weights == peer.holds:
            result, refused = self._proven(peer, event.certificate, event.chain)
        return [*effects, *refused, *self.machine.peer_entered(client.id, now, result)]

    def _proven(
        self, peer: Peer, certificate: mesh_messages.Certificate, chain: Sequence[mesh_messages.Certificate]
    ) -> tuple[ProvenResult | None, list[Effect]]:
        """Returns the result that a peer proves, or the refusal of its certificate."""
        client, newest = peer.client.id, self.machine.round
        try:
            return self.groups.prove(client, peer.identity, certificate, chain, newest), []
        except CertificateError as error:
            return None, [RefuseReport(client, newest, error)]

    def _leave(self, client: str, link: ClientLink, now: float, lost: bool) -> list[Effect]:
        """Removes a peer that left or whose connection was `lost`."""
        if self._current(client, link) is None:
            return []
        del self.peers.by_id[client]
        self.connected.remove(client)
        self.peers.changed(now)
        self.notice(task_events.ClientLeft(client, lost))
        return self.machine.client_left(client, now, lost)

    def _dismiss(self, clients: Collection[str] | None, error: MingaError, now: float) -> list[Effect]:
        """Closes the connections of these peers, of all if None."""
        effects: list[Effect] = []
        for client in list(self.peers.by_id) if clients is None else clients:
            peer = self.peers.by_id.get(client)
            if peer is not None:
                peer.link.close(error)
                effects += self._leave(client, peer.link, now, lost=False)
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
                if refusal := objection(self.task, peer.client.kind, message):
                    return self._dismiss([client], refusal, now)
                peer.client.backend = message.backend
                self.connected.add(peer.client)
                self.peers.changed(now)
                return self.machine.client_ready(
                    client, now, message.step_ms, self._own_examples(message.examples)
                )
            case mesh_messages.Trained():
                self._holds(peer, max(0, message.round - 1), message.base, now)
                return self.machine.peer_trained(client, message, now)
            case mesh_messages.Averaged():
                return self._averaged(peer, message, now)
            case mesh_messages.Certified(certificate, chain):
                result, refused = self._proven(peer, certificate, chain)
                return refused if result is None else self.machine.peer_certified(client, result, now)
            case mesh_messages.Failed():
                return self.machine.peer_failed(client, message, now)
            case messages.Evaluation():
                return self.machine.evaluation_arrived(client, message, now)
            case mesh_messages.Links():
                peer.measures = message.links
                self.machine.links_measured(client, message.links)
            case messages.Leave():
                return self._leave(client, link, now, lost=False)
            case TellState():
                return self._told(client, message, now)
        return []

    def _told(self, client: str, frame: TellState, now: float) -> Sequence[Effect]:
        """Takes a state that the members of a Byzantine mesh agreed on, and dismisses whom it bans."""
        if self.observer is None:
            return []
        state = self.observer.told(client, frame, self._identities(self.peers.by_id))
        if state is None:
            return []
        seated = [seat.client for seat in state.membership.seats]
        agreed = self.machine.state_agreed(state.weights.hex(), seated, now)
        banned = [one for one, peer in self.peers.by_id.items() if self.observer.bans(peer.identity)]
        return [*agreed, *self._dismiss(banned, BannedByMembersError(BANNED), now)]

    def formed(self, groups: Sequence[mesh_messages.Group]) -> None:
        """Takes the groups of a round; a Byzantine mesh may begin with the first."""
        for group in groups if self.observer else ():
            weights = self.machine.base_of(group)
            if weights is not None and self.observer:
                self.observer.formed((group.round, group.group), weights, self._identities(group.members))

    def _identities(self, clients: Iterable[str]) -> dict[str, bytes]:
        return {one: self.peers.by_id[one].identity for one in clients if one in self.peers.by_id}

    def _own_examples(self, examples: int) -> int:
        """Limits the number of own examples that a peer reports, as it is the weight of its update."""
        own = self.task.file.data.own
        return min(examples, own.maximum) if own else examples

    def _averaged(self, peer: Peer, report: mesh_messages.Averaged, now: float) -> Sequence[Effect]:
        client = peer.client.id
        self._holds(peer, report.round, report.weights, now)
        group = self.machine.group_of(client, report.round, report.group)
        if group is None:
            # Of a group that this server did not see end, only a certificate counts.
            return self.machine.peer_reported(client, now)
        survivors = [group.members[place] for place in report.survivors if place < len(group.members)]
        statement = self.groups.statement(report.round, report.group, survivors, report.weights)
        if not verify(peer.identity, report.signature, statement):
            failed = mesh_messages.Failed(
                round=report.round, group=report.group, reason="A report was not signed by its peer."
            )
            return self.machine.peer_failed(client, failed, now)
        return self.machine.peer_averaged(client, report, now)

    def _holds(self, peer: Peer, number: int, weights: str, now: float) -> None:
        if peer.holds != weights:
            peer.round, peer.holds = number, weights
            self.peers.changed(now)

    def _current(self, client: str, link: ClientLink) -> Peer | None:
        peer = self.peers.by_id.get(client)
        return peer if peer is not None and peer.link is link else None
