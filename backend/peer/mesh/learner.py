"""Trains and measures for a mesh peer, from weights that it, another peer or the server has."""

from __future__ import annotations

import asyncio

import numpy as np
from msgspec.structs import replace

from backend.errors import PeerError
from backend.peer.mesh.averager import TrainedWork
from backend.peer.mesh.weight_transfer import WeightSources
from backend.peer.mesh.weights import WeightCache
from backend.peer.rounds.update_cache import UpdateCache
from backend.peer.session import session_jobs
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import WEIGHTS, retry, retry_job
from backend.peer.session.server_messages import tell_partial
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.client import participant_events
from backend.wire.mesh_messages import Entered
from backend.wire.messages import Evaluate, Train


class Learner:
    """Runs `jobs` for one session. `cache` takes the weights that training begins from."""

    def __init__(
        self, jobs: TrainingJobs, sources: WeightSources, cache: WeightCache, reporter: Reporter
    ) -> None:
        self._jobs = jobs
        self._sources = sources
        self._cache = cache
        self._reporter = reporter
        self._update_cache = UpdateCache()

    async def load(self, bundle: str) -> participant_events.BundleLoaded | None:
        """Loads the bundle, and retries while the server is away. Raises what jobs raise."""
        return await session_jobs.load(self._jobs, bundle, self._reporter)

    async def train(self, job: TrainingJob[Train], entered: Entered) -> TrainedWork | None:
        """Trains by the plan; returns None if it is aborted or has no step. Raises PeerError."""
        plan = job.order
        base = await self._weights(job)
        if base is None:
            return None
        result = await self._result(job, entered.bundle)
        if job.aborted or result is None or not result.steps:
            return None
        tell_partial(self._reporter, plan.round, result.steps, result.planned)
        trainable = self._jobs.manifest.parameters.trainable
        return TrainedWork(plan, result, base, entered.outer, trainable, entered.bundle, entered.run)

    async def _weights(self, job: TrainingJob[Train]) -> bytes | None:
        """Returns the plan's first weights, retried until a peer or the server has them; None if aborted."""
        plan, size = job.order, self._jobs.update_bytes()

        def report(error: PeerError, _: float) -> None:
            self._reporter.tell("trouble", f"Round {plan.round}: {error} Trying again.")

        content = await retry(
            lambda: self._sources.get(plan.weights, size), WEIGHTS, report, lambda: job.aborted
        )
        if content is not None:
            self._cache.keep(plan.weights, content)
        return content

    async def _result(self, job: TrainingJob[Train], bundle: str) -> TrainingResult | None:
        """Trains by the plan, or returns the cached result, which a group without an outcome keeps valid."""
        plan = job.order
        # The result depends on the version's weights, not on its number.
        plan_without_version = replace(plan, version=0)
        cached = self._update_cache.take(bundle, plan_without_version)
        if cached is not None:
            sentence = f"Round {plan.round}: the update trained for the previous round is used again."
            self._reporter.tell("kept", sentence, round=plan.round)
            return cached
        report = session_jobs.report_steps(f"Round {plan.round}", self._reporter)
        self._reporter.tell("training", f"Round {plan.round}: training.", round=plan.round)
        result = await retry_job(
            lambda: self._jobs.train(job, bundle, report), self._reporter, job.stop.is_set
        )
        if result is not None and not job.aborted and await asyncio.to_thread(_is_finite, result):
            self._update_cache.keep(bundle, plan_without_version, result)
        return result

    async def measure(self, job: TrainingJob[Evaluate]) -> participant_events.VersionMeasured | None:
        """Measures the version on held-out examples; returns None if that is not possible any more."""
        return await session_jobs.measure(self._jobs, job, self._reporter)


def _is_finite(result: TrainingResult) -> bool:
    """Whether the update can be averaged; one with NaN is not cached, but trained again."""
    return bool(np.isfinite(result.update).all())
