"""The heavy work of a peer, in one thread of its own, so that the socket never waits for TensorFlow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from backend.errors import PeerError
from backend.peer.blobs import Blobs
from backend.peer.graphs import CheckedBundle, Device, check_bundle, import_graphs
from backend.peer.shards import read_shard
from backend.peer.trainer import Plan, Progress, Result, Trainer
from backend.services.manifest import Manifest, parse_manifest
from backend.wire.messages import Train

T = TypeVar("T")

MAX_MANIFEST = 16 << 20


@dataclass
class Job:
    """One training. `stop` ends it after the current step; `aborted` says that nobody wants its result."""

    plan: Train
    stop: threading.Event = field(default_factory=threading.Event)
    aborted: bool = False

    def abort(self) -> None:
        self.aborted = True
        self.stop.set()


class Jobs:
    """Loads a bundle and runs plans on it, one thing at a time. Owned by one session."""

    def __init__(self, blobs: Blobs, device: Device) -> None:
        self._blobs = blobs
        self._device = device
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tensorflow")
        self._running = 0
        self._loaded: tuple[Manifest, Trainer] | None = None

    @property
    def busy(self) -> bool:
        """Whether the thread is at work; a step of TensorFlow cannot be interrupted."""
        return self._running > 0

    async def load(self, address: str) -> tuple[str, float]:
        """Fetches, checks and loads the bundle; returns the backend's word and a step's milliseconds.

        Raises BundleError for a bundle that is refused, PeerError when it cannot be had or run here.
        """
        bundle = await self._fetch_bundle(address)
        trainer = await self._in_thread(lambda: Trainer(import_graphs(bundle, self._device)))
        step_ms = await self._in_thread(trainer.time_step)
        self._loaded = bundle.manifest, trainer
        return trainer.backend, step_ms

    async def train(self, job: Job, report: Callable[[Progress], None]) -> Result:
        """Runs the plan of `job`; `report` is called from the thread. Raises PeerError."""
        if self._loaded is None:
            raise PeerError("No bundle is loaded yet.")
        manifest, trainer = self._loaded
        plan = job.plan
        size = 4 * manifest.parameters.total
        content = await self._blobs.get(plan.weights, at_most=size)
        shards = [
            read_shard(await self._blobs.get(shard.sha256), manifest)
            for shard in plan.shards
            if not job.aborted
        ]
        weights = np.frombuffer(content, "<f4")
        todo = Plan(plan.epochs, plan.learning_rate, plan.seed, plan.past_steps)
        return await self._in_thread(lambda: trainer.train(weights, todo, shards, job.stop, report))

    def close(self) -> None:
        """Lets the thread end by itself once its work is done."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _fetch_bundle(self, address: str) -> CheckedBundle:
        content = await self._blobs.get(address, at_most=MAX_MANIFEST)
        files = parse_manifest(content).files
        native = {}
        for name in ("train", "apply"):
            file = files.get(f"native/{name}.pb")
            if file is None:
                raise PeerError(
                    f"The bundle has no native graph {name}; the task's owner must convert it again."
                )
            native[name] = await self._blobs.get(file.sha256, at_most=file.bytes)
        return check_bundle(content, {"train": native["train"], "apply": native["apply"]})

    async def _in_thread(self, work: Callable[[], T]) -> T:
        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        future.add_done_callback(self._done)
        return await future

    def _done(self, _: object) -> None:
        self._running -= 1
