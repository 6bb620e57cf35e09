"""Does another member's work again, and compares: the same, other, doubtful, or nothing to compare.

Where the work cannot be done here, the finding says so, and accuses nobody.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from backend.errors import BundleError, PeerError
from backend.numerics.aggregation.result_agreement import (
    Tolerance,
    agreement,
    likeness,
    shortest_compared,
)
from backend.numerics.butterfly.part_values import part_values
from backend.numerics.vectors import Vector
from backend.peer.links.links import LinkManager
from backend.peer.mesh.byzantine import part_jobs
from backend.peer.mesh.byzantine.contents import RoundContents
from backend.peer.mesh.byzantine.mesh_states import MeshStates, RoundWork
from backend.peer.mesh.weight_transfer import WeightTransfer
from backend.peer.mesh.weights import WeightCache
from backend.peer.session.progress import Teller
from backend.peer.session.retry import retry_job
from backend.peer.training.trainer import TrainingResult
from backend.peer.training.training_jobs import TrainingJob, TrainingJobs
from backend.protocols.mesh.byzantine.drawn_work import agreed_plan, plan_of
from backend.protocols.mesh.byzantine.state import AgreedState, WorkCase
from backend.wire.byzantine_bodies import Judged, WorkFinding
from backend.wire.messages import Train

# For so many seconds data that others' work needs are asked for again where the server is unreachable.
_SECONDS = 10.0


@dataclass(frozen=True)
class JudgedWork:
    """What was found, and the training that was done to find it; none where there was nothing to compare.

    `problem` says why this peer was unable to find anything. `distance` is that of the shown work from the
    work done again, as in `likeness`; None where bytes decide.
    """

    finding: WorkFinding
    result: TrainingResult | None
    problem: str = ""
    distance: float | None = None


class WorkJudge:
    """Trains as the rules of `states` draw it for any member, on the peer's own engine."""

    def __init__(
        self,
        jobs: TrainingJobs,
        states: MeshStates,
        weights: WeightCache,
        contents: RoundContents,
        transfer: WeightTransfer,
        links: LinkManager,
        reporter: Teller,
    ) -> None:
        self._jobs = jobs
        self._states = states
        self._weights = weights
        self._contents = contents
        self._transfer = transfer
        self._links = links
        self._reporter = reporter

    async def trained(
        self, job: TrainingJob[Train], state: AgreedState, client: str, give_up_after: float = math.inf
    ) -> TrainingResult | None:
        """Does the work of `client` in the round after `state`; None if `job` ended.

        Repeats it while the server does not answer, which has the data. Raises PeerError, also after so many
        seconds.
        """
        rules = self._states.rules
        agreed = agreed_plan(rules, state.round + 1, state.weights)
        plan = plan_of(agreed, rules.shards, state.coin, client)
        whole = replace(job, order=plan, ends=math.inf)
        result = await retry_job(
            lambda: self._jobs.train(whole, rules.bundle, lambda _: None),
            self._reporter,
            job.stop.is_set,
            give_up_after=give_up_after,
        )
        whole_work = result is not None and result.steps == rules.steps
        return result if whole_work and not job.aborted else None

    async def judge(self, job: TrainingJob[Train], case: WorkCase) -> JudgedWork | None:
        """Judges the work of a case; None where this peer lacks what the work began from, or `job` ended."""
        work = self._states.work_of(case.round)
        pieces = work.pieces.get(case.target) if work else None
        base = self._weights.find(work.base.weights.hex()) if work else None
        if work is None or pieces is None or base is None:
            return None
        if not pieces:
            # Who worked has a piece of each part: to commit to none costs nothing.
            return JudgedWork(WorkFinding(case.target, case.round, "other"), None)
        shown = await self._shown(work, case.target)
        if shown is None:
            return JudgedWork(WorkFinding(case.target, case.round, "missing"), None)
        try:
            own = await self.trained(job, work.base, case.target, _SECONDS)
        except (PeerError, BundleError, MemoryError) as error:
            why = str(error) or "There is not enough memory."
            return JudgedWork(WorkFinding(case.target, case.round, "unable"), None, why)
        if own is None:
            return None
        found, distance = await asyncio.to_thread(self._compared, own.update, shown, base)
        if found == "same" and not await self._checks_are_right(work, case.target, shown):
            found = "other"
        return JudgedWork(WorkFinding(case.target, case.round, found), own, distance=distance)

    async def _shown(self, work: RoundWork, target: str) -> list[bytes] | None:
        """Returns the bytes of the pieces that a member committed to, from it or from who else has them."""
        pieces, found = work.pieces[target], list[bytes]()
        sizes = part_jobs.part_sizes(self._jobs.manifest.parameters.total, len(pieces))
        keepers = work.keepers(target)
        for digest, size, keeper in zip(pieces, sizes, keepers, strict=True):
            # Its author may stand still, which costs some seconds to see.
            content = await self._content(digest, size, [keeper, target])
            if content is None:
                return None
            found.append(content)
        return found

    async def _content(self, digest: bytes, values: int, first: Sequence[str]) -> bytes | None:
        content = self._contents.find(digest.hex())
        if content is None:
            holders = [*first, *(one for one in self._links.linked() if one not in first)]
            content = await self._transfer.fetch(digest.hex(), 4 * values, holders)
        return content

    async def _checks_are_right(self, work: RoundWork, target: str, shown: Sequence[bytes]) -> bool:
        """Whether what a worker said of all means is right, and its own, as far as bytes tell."""
        if target not in work.workers:
            return True
        part = work.workers.index(target)
        sizes = part_jobs.part_sizes(self._jobs.manifest.parameters.total, len(work.workers))
        known = dict(zip(work.pieces[target], shown, strict=True))
        for worker in work.workers:
            digest = work.pieces[worker][part]
            content = known.get(digest) or await self._content(digest, sizes[part], [target, worker])
            if content is not None:
                known[digest] = content

        def read(digest: bytes) -> bytes:
            return known[digest] if digest in known else self._contents.get(digest)

        def are_right() -> bool:
            right = True
            with suppress(KeyError):
                right = part_jobs.numbers_are_right(work, target, sizes, read)
            with suppress(KeyError):
                right = right and part_jobs.mean_is_right(work, part, sizes[part], read)
            return right

        return await asyncio.to_thread(are_right)

    def _compared(self, update: Vector, pieces: Sequence[bytes], base: bytes) -> tuple[Judged, float | None]:
        # Values that are not finite count as zeros on both sides.
        sizes = part_jobs.part_sizes(len(update), len(pieces))
        own, shown = (
            part_jobs.joined([part_values(one, size) for one, size in zip(of, sizes, strict=True)])
            for of in (part_jobs.cut(update, len(pieces)), pieces)
        )
        rules = self._states.rules
        if rules.tolerance is None:
            return "same" if own.tobytes() == shown.tobytes() else "other", None
        allowed = rules.tolerance
        tolerance = Tolerance(allowed.distance, allowed.cosine, allowed.blame)
        shortest = shortest_compared(np.frombuffer(base, "<f4"), rules.steps, tolerance)
        measured = likeness(own, shown, shortest)
        return agreement(measured, tolerance).value, measured.distance
