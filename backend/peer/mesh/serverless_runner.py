"""Hosts rounds without the server: performs the effects of their machine over links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from backend.formats.manifest import MetricSpec
from backend.peer.links.links import LinkManager
from backend.peer.session.progress import Reporter
from backend.peer.session.server_messages import tell_peers_evaluation
from backend.protocols.client.participant_events import Disconnected, VersionMeasured
from backend.protocols.mesh import member_events
from backend.protocols.mesh.member import MeshMember
from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.mesh_messages import Entered, Group
from backend.wire.messages import Evaluation, Train
from backend.wire.peer_messages import OnwardFrame


class ServerlessRunner:
    """Owns the machine of serverless rounds of one peer.

    `post` takes events for the member's machine; `reconnect` tries to reach the server, because another peer
    has it; `metrics` returns those of the task, in its order.
    """

    def __init__(
        self,
        links: LinkManager,
        machine: ServerlessRounds,
        reporter: Reporter,
        post: Callable[[member_events.Event], None],
        reconnect: Callable[[], None],
        metrics: Callable[[], Sequence[MetricSpec]],
    ) -> None:
        self._links = links
        self._machine = machine
        self._reporter = reporter
        self._post = post
        self._reconnect = reconnect
        self._metrics = metrics
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def observe(self, event: member_events.Event, member: MeshMember, group: Group | None) -> None:
        """Translates an event that `member` has handled; `group` is the one that it was in before."""
        seen = serverless_event(event, member, group)
        if seen is not None:
            self.handle(seen)

    def frame_received(self, client: str, frame: OnwardFrame) -> None:
        """Takes a frame of another peer about such rounds."""
        if isinstance(frame, Evaluation) and self._machine.survivors.has_other(client):
            tell_peers_evaluation(self._reporter, client, frame, self._metrics())
        self.handle(serverless_events.PeerFrameReceived(client, frame))

    def handle(self, event: serverless_events.Event) -> None:
        """Gives `event` to the machine, and performs the effects."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        for effect in self._machine.happened(event, loop.time()):
            self._perform(effect)
        self._cancel_timer()
        due = self._machine.timer()
        if due is not None:
            self._timer = loop.call_at(due, self.handle, serverless_events.ServerlessTimePassed())

    def close(self) -> None:
        """Stops the timer and ignores further events."""
        self._closed = True
        self._cancel_timer()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _perform(self, effect: serverless_events.Effect) -> None:
        match effect:
            case serverless_events.SendToPeers(clients, frame):
                for client in clients:
                    self._links.send(client, frame)
                if isinstance(frame, Evaluation):
                    local = self._links.local.client
                    tell_peers_evaluation(self._reporter, local, frame, self._metrics())
            case serverless_events.Agree(frame):
                if isinstance(frame, Train):
                    sentence = f"Round {frame.round}: the peers continue without the server."
                    self._reporter.tell("onward", sentence, round=frame.round)
                self._post(member_events.Agreed(frame))
            case serverless_events.ReconnectNow():
                self._reconnect()


def serverless_event(
    event: member_events.Event, member: MeshMember, group: Group | None
) -> serverless_events.Event | None:
    """Returns what an event, which `member` has handled, is for rounds without the server; None if nothing.

    `group` is the one that `member` was in before.
    """
    match event:
        case member_events.ServerFrame(Entered(run=run)) if member.connection.is_open:
            return serverless_events.ServerReached(run)
        case member_events.ServerFrame(frame):
            return serverless_events.ServerFrameReceived(frame)
        case Disconnected():
            return serverless_events.ServerLost(member.in_hand.is_busy)
        case member_events.PlanTrained() if member.in_hand.trained is not None:
            return serverless_events.LocalTrained(member.in_hand.trained)
        case member_events.GroupAveraged(weights=weights) if group is not None:
            return serverless_events.LocalGroupAveraged(group, weights)
        case member_events.GroupFailed():
            return serverless_events.LocalGroupFailed()
        case member_events.WeightsCertified(certificate):
            return serverless_events.LocalGroupCertified(certificate)
        case VersionMeasured() if member.evaluation.result is not None:
            return serverless_events.LocalMeasured(member.evaluation.result)
        case _:
            return None
