"""Runs one peer of one mesh: performs the effects of the member's machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from msgspec.structs import replace

from backend.errors import PeerError
from backend.formats.network_address import Reach
from backend.peer.admission.work_proof import Prepare, prepare_nothing
from backend.peer.data.blob_cache import BlobCache, BlobSource
from backend.peer.links.interfaces import LocalPeer
from backend.peer.links.links import LinkManager
from backend.peer.mesh.averager import Averager
from backend.peer.mesh.background_work import BackgroundWork
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.member import ByzantineMember
from backend.peer.mesh.byzantine.public_shards import PublicShards
from backend.peer.mesh.learner import Learner
from backend.peer.mesh.listening import Listening
from backend.peer.mesh.peer_directory import PeerDirectory
from backend.peer.mesh.server_link import Upstream, deposit
from backend.peer.mesh.serverless_runner import ServerlessRunner
from backend.peer.mesh.weight_transfer import WeightSources, WeightTransfer
from backend.peer.mesh.weights import StoredWeights, WeightCache, WeightStore
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import DEPOSIT, retry_job
from backend.peer.session.server_address import ServerAddress
from backend.peer.session.server_messages import LinkNews, tell_mesh_news
from backend.peer.session.session_loop import SessionEnd, SessionLoop
from backend.peer.session.trust_store import TrustStore
from backend.peer.session.work_clock import WorkClock
from backend.peer.training.training_jobs import TrainingJobs
from backend.protocols.client import participant_events
from backend.protocols.mesh import member_events
from backend.protocols.mesh.member import MeshMember, MeshPhase
from backend.protocols.mesh.serverless import serverless_events
from backend.protocols.mesh.serverless.rounds import ServerlessRounds
from backend.wire.byzantine_messages import AskState, Say, Show, TellEvidence, TellState
from backend.wire.client_id import client_id
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Certificate, Enter, Entered, Group, Links, ServerToPeer, Trained
from backend.wire.messages import Evaluation
from backend.wire.peer_messages import (
    Attended,
    Beat,
    Fetch,
    Passed,
    Passing,
    PeerFrame,
    SetOut,
    Unattended,
    Weights,
)

LINK_REPORT_SECONDS = 10.0


@dataclass(frozen=True)
class Membership:
    """What a peer needs to enter a mesh. `key` is its private Ed25519 key.

    `reach` bounds the addresses of other peers that it connects to.
    """

    server: ServerAddress
    task: str
    enter: Enter
    key: bytes
    listening: Listening | None
    state: Path
    headers: Mapping[str, str] = field(default_factory=dict)
    reach: Reach = "public"
    prepare: Prepare = prepare_nothing


class MeshSession:
    """Owns the machine, the connection, the links and the training of one peer. `run` once."""

    def __init__(
        self,
        member: Membership,
        client: httpx.AsyncClient,
        blobs: BlobCache,
        make_jobs: Callable[[BlobSource], TrainingJobs],
        reporter: Reporter,
        random: Callable[[], float],
        trust_store: TrustStore,
    ) -> None:
        address = member.server.socket(member.task)
        trust_store.enter(address)
        self._member = member
        self._client = client
        self._reporter = reporter
        self._link_news = LinkNews(reporter)
        self.machine = MeshMember()
        self._upstream = Upstream(address, member.headers)
        self._loop: SessionLoop[member_events.Event, ServerToPeer] = SessionLoop(
            self._upstream, member_events.ServerFrame, reporter, random, "; training and averaging continue"
        )
        ways: tuple[Way, ...] = tuple(member.enter.ways)
        local = LocalPeer(task=member.task, client=client_id(member.enter.token), key=member.key, ways=ways)
        self._links = LinkManager(local, self._upstream, self, trust_store, reach=member.reach)
        self._upstream.on_end = self._links.server_away
        self._upstream.before_ban = self._round_ended
        self._weights = WeightCache()
        self._weight_store = WeightStore(member.state / "mesh", address, member.task)
        self._contents = RoundContents()
        self._transfer = WeightTransfer(self._links, self._find, self._loop.spawn)
        self._directory = PeerDirectory(self._links)
        self._shards = PublicShards(
            blobs,
            self._transfer,
            self._links,
            lambda: not self._upstream.is_open,
            self._public_examples,
            lambda: self.jobs.manifest,
        )
        self._sources = WeightSources(self._weights, self._transfer, self._shards, self._directory.holders)
        self.jobs = make_jobs(self._sources)
        learner = Learner(self.jobs, self._sources, self._weights, reporter)
        self._work = BackgroundWork(learner, self._loop.post, self._loop.spawn)
        self._averager = Averager(
            self._links,
            member.key,
            self._weights,
            reporter,
            self._loop.post,
            self._loop.spawn,
            self.machine.declines,
        )
        self._byzantine: ByzantineMember | None = None
        self._serverless = ServerlessRunner(
            self._links,
            ServerlessRounds(local.client, member.enter.kind == "peer", int(random() * 2**32)),
            reporter,
            self._loop.post,
            self._loop.reconnect_now,
            lambda: self.jobs.manifest.metrics,
        )

    async def run(self, stop: asyncio.Event, leave: asyncio.Event | None = None) -> SessionEnd:
        """Takes part until `stop` is set, the task is finished, or another peer takes this one's place.

        Once `leave` is set, it ends after the round in hand. Raises what a session of rounds raises, and
        LinkError if the port to listen at is taken.
        """
        try:
            start = await self._begin()
            self._loop.spawn(self._report_links_regularly())
            return await self._loop.run(self, start, stop, leave)
        finally:
            await self._end()

    async def _begin(self) -> member_events.EnterMesh:
        """Opens links, and enters with the weights stored in the last session."""
        listening = self._member.listening
        if listening:
            await self._links.open(listening.host, listening.port, listening.address)
        else:
            await self._links.open()
        enter = replace(self._member.enter, address=self._links.local.address)
        stored = await asyncio.to_thread(self._weight_store.read)
        if stored:
            certificate = stored.certificate
            self._weights.keep(certificate.weights, stored.weights)
            enter = replace(
                enter,
                round=certificate.round,
                holds=certificate.weights,
                certificate=certificate,
                chain=stored.chain,
            )
        return member_events.EnterMesh(enter)

    def handle(self, event: member_events.Event) -> None:
        """Passes `event` to the machine, and performs the effects that it returns."""
        group = self.machine.in_hand.group
        for effect in self.machine.handle(event):
            self._perform(effect)
        self._serverless.observe(event, self.machine, group)
        match event:
            case member_events.ServerFrame(frame):
                tell_mesh_news(self._reporter, frame)
                self._upstream.is_entered = self._upstream.is_open and self.machine.entered is not None
                self._directory.update(frame)
                if isinstance(frame, Entered):
                    self._enter_byzantine(frame)
                    self._averages.server_reached()
            case member_events.WeightsCertified(certificate):
                self._store_weights(certificate)
        self._loop.set_idle(self.is_between_work)

    def _store_weights(self, certificate: Certificate) -> None:
        """Stores certified weights for the next session."""
        enter, content = self.machine.enter, self._weights.find(certificate.weights)
        if content is None or enter is None or enter.certificate != certificate:
            return
        stored = StoredWeights(certificate, content, enter.chain)
        self._loop.spawn(asyncio.to_thread(self._weight_store.write, stored))

    def _perform(self, effect: member_events.Effect) -> None:
        match effect:
            case participant_events.Connect(delay):
                self._loop.connect(delay, self.machine.connection.dismissal)
            case member_events.SendToServer(frame):
                self._upstream.send(frame)
            case participant_events.Load(bundle):
                self._work.load(bundle)
            case participant_events.StartTraining(plan):
                if entered := self.machine.entered:
                    self._work.train(plan, entered, self._byzantine)
            case participant_events.AbortTraining():
                self._work.abort_training()
            case member_events.Average(group):
                if trained := self._work.trained:
                    self._averages.average(group, trained)
            case member_events.AbortAveraging():
                self._averages.abort()
            case member_events.UploadDeposit(weights):
                self._loop.spawn(self._deposit(weights))
            case participant_events.MeasureVersion(request):
                self._work.measure(request)
            case participant_events.AbortMeasuring():
                self._work.abort_measuring()
            case participant_events.Close():
                self._upstream.finish()

    @property
    def _averages(self) -> Averager | ByzantineMember:
        return self._byzantine or self._averager

    async def _find(self, sha256: str) -> bytes | None:
        evidence = self._byzantine.find(sha256) if self._byzantine else None
        found = self._weights.find(sha256) or self._contents.find(sha256) or evidence
        return found or await self._shards.find(sha256)

    async def _round_ended(self) -> None:
        if self._byzantine:
            await self._byzantine.round_ended()

    def _public_examples(self, sha256: str) -> int | None:
        """Returns how many examples a shard has that all members may be drawn for; None if it is none."""
        shards = self._byzantine.rules.shards if self._byzantine else []
        return next((one.examples for one in shards if one.sha256 == sha256), None)

    def _enter_byzantine(self, entered: Entered) -> None:
        """Becomes a member of a mesh whose members check each other, if the task is one."""
        if entered.byzantine is None or (self._byzantine and self._byzantine.rules == entered.byzantine):
            return
        if self._byzantine:
            self._byzantine.close()
        member = self._member
        self._byzantine = ByzantineMember(
            entered.byzantine,
            member.state / "mesh",
            member.server.socket(member.task),
            self._links,
            member.key,
            self.jobs,
            self._weights,
            self._contents,
            self._transfer,
            self._sources,
            self._reporter,
            self._tell_server,
            self._loop.post,
            self._loop.spawn,
            self.machine.declines,
        )

    def _tell_server(self, frame: TellState) -> None:
        if self._upstream.is_entered:
            self._upstream.send(frame)

    async def _deposit(self, weights: str) -> None:
        content = self._weights.find(weights)
        if content is None:
            return
        server, task = self._member.server, self._member.task
        address = f"{server.root}/api/tasks/{task}/weights/{weights}"
        try:
            await retry_job(lambda: deposit(self._client, address, content), self._reporter, policy=DEPOSIT)
        except PeerError as error:
            # The server may ask another survivor, and the next round begins from these weights in any case.
            self._reporter.tell("trouble", str(error))

    async def _report_links_regularly(self) -> None:
        while True:
            await asyncio.sleep(LINK_REPORT_SECONDS)
            self._report_links()

    def _report_links(self) -> None:
        if self._upstream.is_entered:
            self._upstream.send(Links(links=self._links.measures()))

    # `Listener`, for the links.

    def up(self, client: str, way: Way) -> None:
        """Takes a new link to `client`, a change of its way, or the end of its silence."""
        self._link_news.up(client, way)
        self._averager.up(client)
        if self._byzantine:
            self._byzantine.up(client)
        self._serverless.handle(serverless_events.PeerLinked(client))
        self._report_links()

    def down(self, client: str, reason: str) -> None:
        """Takes the loss of the last link to `client`."""
        if self.machine.phase is not MeshPhase.STOPPED:
            self._link_news.down(client, reason)
        self._transfer.link_lost(client)
        self._averages.down(client)
        self._serverless.handle(serverless_events.PeerLost(client))
        self._report_links()

    def silent(self, client: str) -> None:
        """Takes the silence of `client` for the group's patience."""
        self._averager.silent(client)
        self._serverless.handle(serverless_events.PeerLost(client))

    def refused(self, client: str, reason: str) -> None:
        """Reports that `client` gets no link."""
        self._reporter.tell("unsafe", reason, client=client)

    def received(self, client: str, frame: PeerFrame) -> None:
        """Passes a frame of `client` to the part that handles it."""
        match frame:
            case Fetch():
                self._transfer.requested(client, frame)
            case Weights():
                self._transfer.chunk_received(client, frame)
            case Beat() | Passing() | Passed():
                pass  # The links handle these.
            case Unattended() | SetOut() | Attended() | Trained() | Group() | Evaluation():
                self._serverless.frame_received(client, frame)
            case AskState() | TellState() | TellEvidence():
                if self._byzantine:
                    self._byzantine.state_frame_received(client, frame)
            case Say() | Show():
                if self._byzantine:
                    self._byzantine.frame_received(client, frame)
            case _:
                self._averages.frame_received(client, frame)

    @property
    def clock(self) -> WorkClock:
        """The seconds of work so far."""
        return self._loop.clock

    @property
    def is_between_work(self) -> bool:
        """Whether no round is in hand, or its result is reported."""
        in_hand = self.machine.in_hand
        return in_hand.plan is None or in_hand.report is not None

    def take_no_more(self) -> None:
        """Does nothing: a round begins with the peers that are there."""

    def wind_down(self) -> None:
        """Ends the training after its current step; its round continues."""
        self._work.wind_down()

    async def _end(self) -> None:
        """Sends the farewell, then ends links, training and all other work."""
        self._work.abort_training()
        self._work.abort_measuring()
        if self._byzantine:
            await self._byzantine.evidence_written()
        await self._loop.end()
        self._serverless.close()
        self._averager.close()
        if self._byzantine:
            self._byzantine.close()
        await self._links.close()
        await self.jobs.close()
