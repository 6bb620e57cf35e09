"""Hosts one decentralized task."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence

from backend.errors import BannedByMembersError, NotFiniteError
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.vectors import from_bytes
from backend.protocols.mesh.byzantine.state_observer import StateObserver
from backend.protocols.rounds.lots import Lots
from backend.protocols.rounds.phases import RoundPhase
from backend.server.hosting.background_tasks import BackgroundTasks
from backend.server.hosting.clients.admission import check_room
from backend.server.hosting.clients.client_link import ConnectedClient, MeasuredLink, Presence
from backend.server.hosting.clients.connected_clients import ConnectedClients, presence_of, wire_phase
from backend.server.hosting.host_events import FrameReceived
from backend.server.hosting.limits import USUAL, TaskLimits
from backend.server.hosting.mailbox import Mailbox
from backend.server.hosting.task_host import TaskHost
from backend.server.mesh.effect_runner import MeshEffectRunner
from backend.server.mesh.event_handler import BANNED, MeshEventHandler
from backend.server.mesh.ice_servers import NO_ICE, IceServers
from backend.server.mesh.mesh_host_events import MeshHostEvent, PeerEntered, WeightsDeposited
from backend.server.mesh.peer_list import Peer, Peers
from backend.server.mesh.recorded_groups import RecordedGroups
from backend.server.mesh.records import MeshRecorder
from backend.server.mesh.relay import PeerRelay
from backend.server.mesh.setup import byzantine_rules_of, coordinator_of
from backend.server.mesh.welcome import Greeter
from backend.server.observers import task_events
from backend.server.observers.observer import NO_OBSERVERS, Observer, Observers
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import BlobStore, MeshGroupRecord
from backend.wire import mesh_messages, messages
from backend.wire.client_id import client_id
from backend.wire.mesh_fields import MOST_IN_MESH


class MeshHost(TaskHost):
    """Owns one task's coordinator, its peers and their relay.

    Time is the event loop's; `clock` gives the time of day (Unix seconds). `opening` counts how often the
    task was opened, this time included; `groups` are the recorded ones whose members can certify results.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        evaluate: bool,
        opening: int = 1,
        groups: Sequence[MeshGroupRecord] = (),
        clock: Callable[[], float] = time.time,
        observer: Observer = NO_OBSERVERS,
        limits: TaskLimits = USUAL,
        ice: IceServers = NO_ICE,
        lots: Lots | None = None,
    ) -> None:
        observers = Observers([observer])
        background = BackgroundTasks(task.file.name, self._notice)
        mailbox: Mailbox[MeshHostEvent] = Mailbox(task.file.name, self._turn, self._next_due)
        super().__init__(task, history, mailbox, ConnectedClients(), background, observers)
        self._limits = limits
        self._received = self._member_bytes = 0
        self._peers = Peers()
        self._relay = PeerRelay(self._peers, limits.relay_bytes_per_second)
        self.machine = coordinator_of(task, history, opening, lots or Lots(secrets.token_bytes(32)))
        self._recorder = MeshRecorder(
            task, history, blobs, background, self._notice, mailbox.put, clock, evaluate
        )
        self._groups = RecordedGroups(
            task.file.name,
            task.bundle.address,
            history.run_name,
            self.machine.quorum,
            history.current.round,
            groups,
        )
        rules = byzantine_rules_of(task, history.run_name)
        self.observer = StateObserver(task.file.name, rules, self._groups.members()) if rules else None
        greeter = Greeter(task, history, ice, clock)
        self._event_handler = MeshEventHandler(
            task,
            self.machine,
            self._connected,
            self._peers,
            self._notice,
            greeter.entered,
            self._groups,
            self.observer,
        )
        self._effect_runner = MeshEffectRunner(
            task,
            history,
            self.machine,
            self._event_handler,
            self._connected,
            self._recorder,
            background,
            self._notice,
            mailbox.put,
            self._groups,
        )

    # Called by the socket.

    async def join(self, enter: mesh_messages.Enter, link: MeasuredLink) -> str:
        """Adds a peer and returns its id. An older connection of the same peer is closed.

        Raises BusyError, BannedByMembersError, and what AdmissionControl raises.
        """
        name = client_id(enter.token)
        self.admission.check(name, link.identity)
        if self.observer and self.observer.bans(enter.identity):
            raise BannedByMembersError(BANNED)
        maximum = min(self._limits.max_clients, MOST_IN_MESH)
        check_room(name, self._peers.by_id, maximum, "peers")
        client = ConnectedClient(name, enter.kind, enter.backend, link)
        peer = Peer(client, link, enter.identity, enter.ways, enter.address, enter.round, enter.holds)
        await self._mailbox.put(PeerEntered(peer, enter.certificate, enter.chain))
        return name

    async def hear(self, client: str, link: MeasuredLink, message: mesh_messages.PeerToServer) -> None:
        """Handles a message after the peer's Enter: relays it to another peer, or queues it.

        Waits while the mailbox, or the other peer's send queue, is full.
        """
        if isinstance(message, mesh_messages.SignalTo | mesh_messages.RelayTo):
            peer = self._peers.by_id.get(client)
            if peer is not None and peer.link is link:
                await self._relay.forward(peer, message)
            return
        await self._mailbox.put(FrameReceived(client, link, message))

    # Called by the upload of weights.

    @property
    def weights_bytes(self) -> int:
        """Length of the model's weights, in bytes."""
        return 4 * self.task.bundle.manifest.parameters.total

    def wants(self, address: str) -> bool:
        """Whether the weights with that SHA-256 are to be uploaded now."""
        return self.machine.wants(address)

    async def deposit(self, address: str, data: bytes | bytearray) -> None:
        """Accepts uploaded weights of the right length, whose SHA-256 is `address`.

        Raises NotFiniteError if the weights hold NaN or infinity; such weights are not recorded.
        """
        weights = from_bytes(data, len(data) // 4)
        if not await asyncio.to_thread(all_finite, weights):
            raise NotFiniteError("The weights hold NaN or infinity: they are not recorded.")
        self._received += len(data)
        await self._mailbox.put(WeightsDeposited(address, weights))

    # Queries.

    @property
    def phase(self) -> messages.Phase:
        """See TaskHost."""
        return wire_phase(self.machine.phase)

    @property
    def needed(self) -> int:
        """See TaskHost."""
        return self.machine.needed()

    @property
    def reason_to_finish(self) -> str | None:
        """See TaskHost."""
        return self.machine.reason_to_finish()

    @property
    def quiet(self) -> bool:
        """See TaskHost."""
        return self.machine.phase in (RoundPhase.PAUSED, RoundPhase.FINISHED)

    @property
    def round(self) -> int:
        """See TaskHost."""
        return self.machine.round

    @property
    def peers(self) -> Peers:
        """The connected peers."""
        return self._peers

    @property
    def presences(self) -> list[Presence]:
        """See TaskHost."""
        return [presence_of(client, self.machine) for client in self._connected.clients.values()]

    @property
    def received(self) -> int:
        """See TaskHost."""
        return self._received

    @property
    def sent(self) -> int:
        """See TaskHost."""
        return super().sent + self._member_bytes + self._relay.carried

    @property
    def carried(self) -> int:
        """See TaskHost: the bytes of relayed signals and sealed frames."""
        return self._relay.carried

    @property
    def ways(self) -> list[str]:
        """See TaskHost."""
        return [link.way for peer in self._peers.by_id.values() for link in peer.measures]

    # The loop.

    def _start(self) -> None:
        self._recorder.start()

    def _turn(self, event: MeshHostEvent | None, now: float) -> None:
        if event is not None:
            self._effect_runner.perform(self._event_handler.handle(event, now), now)
            self._connected.state_changed(now)
        timer = self.machine.timer()
        if timer is not None and now >= timer:
            self._effect_runner.perform(self.machine.time_passed(now), now)
            self._connected.state_changed(now)
        self._member_bytes += self._peers.announce(now)
        self._connected.tell_state(self.machine, self.history.accepted, now)

    def _next_due(self) -> float | None:
        times = (self.machine.timer(), self._peers.timer(), self._connected.timer())
        return min((at for at in times if at is not None), default=None)

    def _notice(self, event: task_events.TaskEvent) -> None:
        self._observers.notice(self.name, event)
