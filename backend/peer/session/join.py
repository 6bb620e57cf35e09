"""Chooses the session for a task by its scheme: rounds, a mesh, or work units."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import httpx

from backend.crypto.client_keys import identity_key
from backend.errors import PeerError
from backend.peer.admission.work_proof import Prepare, WorkProof, prepare_nothing
from backend.peer.data.blob_cache import BlobCache, BlobSource
from backend.peer.data.local_data import LocalDataset
from backend.peer.exact.exact_engine import EXACT_BACKEND, ExactEngine
from backend.peer.mesh.listening import Listening
from backend.peer.mesh.session import Membership, MeshSession
from backend.peer.rounds.session import RoundsSession
from backend.peer.rounds.spent_versions import SpentVersions
from backend.peer.session.identity import ClientIdentity
from backend.peer.session.progress import Reporter
from backend.peer.session.server_address import Choice, ServerAddress
from backend.peer.session.session_loop import SessionEnd
from backend.peer.session.trust_store import TrustStore
from backend.peer.session.work_clock import WorkClock
from backend.peer.training.control_variates import Variates
from backend.peer.training.engine import TrainingEngine
from backend.peer.training.graphs import Device
from backend.peer.training.tensorflow_engine import TensorFlowEngine
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.units.checkpoint_folder import CheckpointFolder
from backend.peer.units.options import CHECKPOINT_SECONDS, GIVE_UP_SECONDS, UnitOptions
from backend.peer.units.session import UnitsSession
from backend.peer.units.shard_cache import ShardCache
from backend.peer.units.unit_trainer import UnitTrainer
from backend.wire.client_id import client_id
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Enter
from backend.wire.messages import Hello, Welcome
from backend.wire.unit_messages import Enlist


class JoinedSession(Protocol):
    """A session of any scheme, ready to run."""

    jobs: TrainingJobs

    @property
    def clock(self) -> WorkClock:
        """The seconds of work so far."""

    async def run(self, stop: asyncio.Event, leave: asyncio.Event | None = None) -> SessionEnd: ...


@dataclass(frozen=True)
class JoinOptions:
    """The options of `minga peer join`; None for an option that was not given."""

    device: Device
    min_masked: int | None
    min_noise: float | None
    roster: frozenset[str] | None
    ways: list[Way]
    listening: Listening | None
    at_once: int | None = None
    preemptible: bool = False
    give_up_after: float | None = None
    checkpoint_every: float | None = None
    exact: bool = False
    offline: int = 0

    def for_scheme(self, scheme: str) -> JoinOptions:
        """Returns the options without those that tasks of `scheme` do not know, for one task of several."""
        return self if scheme == "volunteer" else replace(self, at_once=None, give_up_after=None, offline=0)

    @property
    def backend(self) -> str:
        """What computes, before the bundle is loaded."""
        return EXACT_BACKEND if self.exact else "tensorflow"


@dataclass(frozen=True)
class JoinRequest:
    """One client's request to join one task."""

    server: ServerAddress
    task: Choice
    identity: ClientIdentity
    agent: str
    state: Path
    local_data: LocalDataset | None
    options: JoinOptions
    headers: Mapping[str, str]
    # What each task promised its clients in earlier sessions of this process, by the address of its socket.
    promises: dict[str, Welcome] = field(default_factory=dict)

    def session(self, client: httpx.AsyncClient, cache: Path, reporter: Reporter) -> JoinedSession:
        """Returns the session for the task's scheme. Raises PeerError for options that do not fit it."""
        blobs = BlobCache(client, self.server.root, cache)
        trust_store = TrustStore(self.state / "met", self.options.roster)
        prepare: Prepare = prepare_nothing
        if self.task.newcomers == "work":
            url = f"{self.server.root}/api/tasks/{self.task.name}/challenges/{client_id(self.identity.token)}"
            prepare = WorkProof(client, url, reporter)
        if self.task.scheme == "decentralized":
            self._refuse_unit_options()
            return self._mesh_session(client, blobs, reporter, trust_store, prepare)
        if self.options.listening:
            raise PeerError(
                "In this task the server averages, and no peer connects to another; leave --listen out."
            )
        if self.task.scheme == "volunteer":
            return self._units_session(blobs, cache, reporter, prepare)
        self._refuse_unit_options()
        return self._rounds_session(blobs, reporter, trust_store, prepare)

    def _refuse_unit_options(self) -> None:
        if self.options.at_once is not None:
            raise PeerError("Only a task of work units gives several to one peer; leave --at-once out.")
        if self.options.give_up_after is not None:
            raise PeerError("--give-up-after is for tasks of work units; leave it out.")
        if self.options.checkpoint_every is not None:
            raise PeerError("Only a work unit has checkpoints; leave --checkpoint-every out.")
        if self.options.offline:
            raise PeerError("Only work units can be trained without a connection; leave --offline out.")

    def _refuse_min_noise(self) -> None:
        if self.options.min_noise:
            raise PeerError(
                "Clients add noise only in tasks whose server sums updates; leave --min-noise out, or choose "
                "another task."
            )

    def _mesh_session(
        self,
        client: httpx.AsyncClient,
        blobs: BlobCache,
        reporter: Reporter,
        trust_store: TrustStore,
        prepare: Prepare,
    ) -> MeshSession:
        if self.options.min_masked:
            raise PeerError(
                "In this task peers average among themselves, and nothing is masked; leave --min-masked out."
            )
        reach = self.server.reach(self.task)
        if self.options.listening is not None:
            self.options.listening.check(reach)
        self._refuse_min_noise()
        enter = Enter(
            token=self.identity.token,
            kind="peer",
            backend=self.options.backend,
            agent=self.agent,
            identity=identity_key(self.identity.key),
            ways=self.options.ways,
            address=None,
            round=0,
            holds=None,
            certificate=None,
        )
        member = Membership(
            self.server,
            self.task.name,
            enter,
            self.identity.key,
            self.options.listening,
            self.state,
            self.headers,
            reach,
            prepare,
        )
        return MeshSession(member, client, blobs, self._jobs, reporter, random.random, trust_store)

    def _rounds_session(
        self, blobs: BlobSource, reporter: Reporter, trust_store: TrustStore, prepare: Prepare
    ) -> RoundsSession:
        options = self.options
        # A task that always masks is held to it from the first connection on.
        masks = options.min_masked or options.roster is not None or "open" not in self.task.aggregation
        hello = Hello(
            token=self.identity.token,
            kind="peer",
            backend=self.options.backend,
            agent=self.agent,
            aggregation=["masked"] if masks else ["masked", "open"],
            min_masked=options.min_masked or 0,
        )
        address = self.server.socket(self.task.name)
        return RoundsSession(
            address,
            hello,
            self._jobs(blobs),
            reporter,
            random.random,
            self.identity.key,
            trust_store,
            SpentVersions(self.state / "spent"),
            self.headers,
            options.min_noise or 0.0,
            self.promises,
            prepare,
        )

    def _units_session(
        self, blobs: BlobCache, cache: Path, reporter: Reporter, prepare: Prepare
    ) -> UnitsSession:
        options = self.options
        self._refuse_min_noise()
        if options.min_masked or options.roster is not None:
            raise PeerError(
                "This task checks each result individually, and nothing is masked; leave --min-masked and "
                "--roster out."
            )
        address = self.server.socket(self.task.name)
        shard_cache = ShardCache(self.state / "shelves", address, cache)
        enlist = Enlist(
            token=self.identity.token,
            kind="peer",
            backend=self.options.backend,
            agent=self.agent,
            shards=shard_cache.read(),
        )
        patience = options.give_up_after or GIVE_UP_SECONDS
        if options.offline > patience:
            raise PeerError(
                f"--offline takes work for {options.offline} s, but --give-up-after ends this peer after "
                f"{patience:.0f} s; give it as many seconds."
            )
        unit_options = UnitOptions(
            address, enlist, options.at_once or 1, options.preemptible, patience, options.offline
        )
        jobs = self._jobs(blobs, unit_options.at_once)
        every = CHECKPOINT_SECONDS if options.checkpoint_every is None else options.checkpoint_every
        trainer = UnitTrainer(blobs, jobs, every)
        # A unit is leased to an identity: a later process without it gets other units.
        keeps = every and self.identity.stored
        checkpoints = CheckpointFolder(self.state / "units", address) if keeps else None
        return UnitsSession(
            unit_options,
            jobs,
            trainer,
            shard_cache,
            reporter,
            random.random,
            self.headers,
            checkpoints,
            prepare,
        )

    def _jobs(self, source: BlobSource, at_once: int = 1) -> TrainingJobs:
        read = self.local_data.for_bundle if self.local_data else None
        if self.options.exact and read is not None:
            raise PeerError(
                "An exact peer trains on a task's shards: other machines may decode files differently. "
                "Leave --exact out, or choose another task."
            )
        engine: TrainingEngine
        if self.options.exact:
            engine = ExactEngine(source, at_once)
        else:
            engine = TensorFlowEngine(source, self.options.device, at_once)
        return TrainingJobs(engine, source, Variates(self.state / "variates"), read)
