"""Which session a task takes: rounds with a server that averages, a mesh, or work units."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx

from backend.crypto.client_keys import identity_key
from backend.errors import PeerError
from backend.peer.data.blob_cache import BlobCache, BlobSource
from backend.peer.data.local_data import OwnData
from backend.peer.mesh.session import Listening, Membership, MeshSession
from backend.peer.rounds.session import Session
from backend.peer.session.identity import ClientIdentity
from backend.peer.session.progress import Reporter
from backend.peer.session.server_address import Choice, ServerAddress
from backend.peer.session.trust_store import TrustStore
from backend.peer.training.control_variates import Variates
from backend.peer.training.graphs import Device
from backend.peer.training.training_jobs import TrainingJobs
from backend.peer.units.options import GIVE_UP_SECONDS, Taking
from backend.peer.units.session import UnitsSession
from backend.peer.units.shard_cache import ShardCache
from backend.peer.units.unit_trainer import UnitTrainer
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Enter
from backend.wire.messages import Hello
from backend.wire.unit_messages import Enlist


class Running(Protocol):
    """Any session."""

    jobs: TrainingJobs

    async def run(self, stop: asyncio.Event) -> None: ...


@dataclass(frozen=True)
class Wishes:
    """What the person who starts a peer asked for; None where nothing was."""

    device: Device
    min_masked: int | None
    listed: frozenset[str] | None
    ways: list[Way]
    listening: Listening | None
    at_once: int | None = None
    preemptible: bool = False
    give_up_after: float | None = None


@dataclass(frozen=True)
class Joining:
    """Who joins which task, and with what."""

    site: ServerAddress
    task: Choice
    identity: ClientIdentity
    agent: str
    state: Path
    own: OwnData | None
    wishes: Wishes
    headers: Mapping[str, str]

    def session(self, client: httpx.AsyncClient, cache: Path, reporter: Reporter) -> Running:
        """The session that fits the task. Raises PeerError for wishes that do not fit it."""
        blobs = BlobCache(client, self.site.root, cache)
        known = TrustStore(self.state / "met", self.wishes.listed)
        if self.task.scheme == "decentralized":
            self._not_of_units()
            return self._in_mesh(client, blobs, reporter, known)
        if self.wishes.listening:
            raise PeerError(
                "In this task the server averages, and no peer connects to another; leave --listen out."
            )
        if self.task.scheme == "volunteer":
            return self._in_units(blobs, cache, reporter)
        self._not_of_units()
        return self._in_rounds(blobs, reporter, known)

    def _not_of_units(self) -> None:
        if self.wishes.at_once is not None:
            raise PeerError("Only a task of work units has several for one peer; leave --at-once out.")
        if self.wishes.give_up_after is not None:
            raise PeerError("Only a peer of work units gives its server up; leave --give-up-after out.")

    def _in_mesh(
        self, client: httpx.AsyncClient, blobs: BlobSource, reporter: Reporter, known: TrustStore
    ) -> MeshSession:
        if self.wishes.min_masked:
            raise PeerError(
                "In this task peers average among themselves, and nothing is masked; leave --min-masked out."
            )
        enter = Enter(
            token=self.identity.token,
            kind="peer",
            backend="tensorflow",
            agent=self.agent,
            identity=identity_key(self.identity.key),
            ways=self.wishes.ways,
            address=None,
            round=0,
            holds=None,
            certificate=None,
        )
        member = Membership(
            self.site,
            self.task.name,
            enter,
            self.identity.key,
            self.wishes.listening,
            self.state,
            self.headers,
        )
        return MeshSession(member, client, blobs, self._jobs, reporter, random.random, known)

    def _in_rounds(self, blobs: BlobSource, reporter: Reporter, known: TrustStore) -> Session:
        wishes = self.wishes
        hello = Hello(
            token=self.identity.token,
            kind="peer",
            backend="tensorflow",
            agent=self.agent,
            aggregation=["masked"] if wishes.min_masked or wishes.listed is not None else ["masked", "open"],
            min_masked=wishes.min_masked or 0,
        )
        address = self.site.socket(self.task.name)
        jobs = self._jobs(blobs)
        return Session(address, hello, jobs, reporter, random.random, self.identity.key, known, self.headers)

    def _in_units(self, blobs: BlobCache, cache: Path, reporter: Reporter) -> UnitsSession:
        wishes = self.wishes
        if wishes.min_masked or wishes.listed is not None:
            raise PeerError(
                "In this task each result is looked at by itself, and nothing is masked; leave --min-masked "
                "and --roster out."
            )
        address = self.site.socket(self.task.name)
        shelf = ShardCache(self.state / "shelves", address, cache)
        enlist = Enlist(
            token=self.identity.token,
            kind="peer",
            backend="tensorflow",
            agent=self.agent,
            shards=shelf.read(),
        )
        patience = wishes.give_up_after or GIVE_UP_SECONDS
        taking = Taking(address, enlist, wishes.at_once or 1, wishes.preemptible, patience)
        jobs = self._jobs(blobs, taking.at_once)
        labour = UnitTrainer(blobs, jobs)
        return UnitsSession(taking, jobs, labour, shelf, reporter, random.random, self.headers)

    def _jobs(self, source: BlobSource, at_once: int = 1) -> TrainingJobs:
        read = self.own.for_bundle if self.own else None
        return TrainingJobs(source, self.wishes.device, Variates(self.state / "variates"), read, at_once)
