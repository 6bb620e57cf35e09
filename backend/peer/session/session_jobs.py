"""Runs the jobs that all sessions have, and reports them: loading, measuring, steps of training."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from backend.errors import PeerError
from backend.peer.session.progress import Reporter
from backend.peer.session.retry import retry_job
from backend.peer.training.trainer import TrainingProgress
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.client import participant_events
from backend.wire.messages import Evaluate


async def load(jobs: TrainingJobs, bundle: str, reporter: Reporter) -> participant_events.BundleLoaded | None:
    """Loads the bundle, however long the server is unreachable. Raises the errors of the job."""
    reporter.tell("loading", "Loading the model.")
    loaded = await retry_job(lambda: jobs.load(bundle), reporter)
    if loaded is None:
        return None
    backend, step_ms, examples = loaded
    sentence = f"Ready: one step takes {step_ms:.1f} ms on {backend}."
    reporter.tell("ready", sentence, backend=backend, step_ms=step_ms, examples=examples)
    return participant_events.BundleLoaded(backend, step_ms, examples, jobs.program)


async def measure(
    jobs: TrainingJobs, job: TrainingJob[Evaluate], reporter: Reporter
) -> participant_events.VersionMeasured | None:
    """Measures the version on held-out examples; None if that failed or is no longer needed."""
    request = job.order
    sentence = f"Measuring version {request.version} on held-out examples."
    reporter.tell("measuring", sentence, version=request.version)
    try:
        measured = await retry_job(lambda: jobs.measure(job), reporter, job.stop.is_set)
    except PeerError as error:
        # The server needs no evaluation of this client; training continues.
        reporter.tell("trouble", str(error))
        return None
    if job.aborted or measured is None:
        return None
    examples, loss, sums = measured
    sentence = f"Version {request.version} on {examples} held-out examples here: loss {loss:.4f}."
    if not examples:
        sentence = f"Nothing is held out here to measure version {request.version} on."
    reporter.tell("measured", sentence, version=request.version, examples=examples, loss=loss)
    return participant_events.VersionMeasured(request.round, request.version, examples, loss, sums)


def report_steps(of: str, reporter: Reporter) -> Callable[[TrainingProgress], None]:
    """Returns a callback that reports the steps of `of`, a round or a unit, from the training thread.

    Must be called in the session's event loop.
    """
    loop = asyncio.get_running_loop()

    def report(progress: TrainingProgress) -> None:
        loop.call_soon_threadsafe(reporter.step, of, progress.step, progress.steps, progress.loss)

    return report
