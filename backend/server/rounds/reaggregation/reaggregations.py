"""Tries another rule on the kept updates of one task, beside its training, one try at a time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import structlog

from backend.errors import MingaError, OrderError
from backend.numerics.vectors import Vector, to_bytes
from backend.server.exports.version_comparison import Distance, distances
from backend.server.rounds.reaggregation.one_by_one_evaluator import OneByOneEvaluator
from backend.server.rounds.reaggregation.reaggregated_round import ReaggregatedRound, reaggregate
from backend.server.rounds.reaggregation.report import report_of
from backend.server.rounds.reaggregation.rule_choice import RuleChoice
from backend.server.rounds.reaggregation.rule_try import RuleTry, TriedRound
from backend.server.tasks.task import Task
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import BlobStore
from backend.stores.updates.kept_rounds import KeptRound, KeptRows
from backend.stores.updates.kept_updates import KeptUpdates

log = structlog.stdlib.get_logger("minga.reaggregation")

Result = TypeVar("Result")
# Bytes of the secret from which FLAME draws.
SEED_BYTES = 16


class Reaggregations:
    """Owns the last try of one task, in memory. `stop` ends one that runs.

    Versions are measured if `evaluate` and there are held-out shards. `folder` is an existing one for
    temporary files, None the system's. A try takes the server's only `slot`; FLAME draws from `draw`.
    """

    def __init__(
        self,
        task: Task,
        history: VersionHistory,
        blobs: BlobStore,
        kept: KeptUpdates,
        evaluate: bool,
        folder: Path | None,
        slot: asyncio.Semaphore,
        draw: Callable[[int], bytes],
    ) -> None:
        self._task, self._history, self._blobs, self._kept = task, history, blobs, kept
        self._folder, self._slot, self._draw = folder, slot, draw
        self._measures = evaluate and bool(task.shards.holdout)
        self._try = RuleTry()
        self._running: asyncio.Task[None] | None = None

    def begin(self, choice: RuleChoice) -> None:
        """Begins a try of a rule on all rounds that are kept now.

        Raises OrderError while one runs, or if no round is kept, and BadRequestError, with the numbers, if a
        round has too few updates for the rule.
        """
        if self._running is not None and not self._running.done():
            raise OrderError("Another rule is being tried on these updates. Wait for it, or cancel it.")
        rounds = self._kept.rounds
        if not rounds:
            problem = f" {self._kept.problem}" if self._kept.problem else ""
            raise OrderError(f"No updates are kept yet: a round has to end with a version first.{problem}")
        robust = self._task.file.security.robust
        attackers = choice.attackers_for(rounds, robust.attackers if robust else None)
        self._try = RuleTry(choice.words, attackers, "waiting", planned=len(rounds))
        self._running = asyncio.create_task(self._run(choice, self._try))

    def cancel(self) -> None:
        """Ends a try that runs. Raises OrderError if none does."""
        if self._running is None or self._running.done():
            raise OrderError("No rule is being tried on kept updates.")
        self._running.cancel()
        if self._try.state == "waiting":  # One that has not begun to run never says so itself.
            self._try.state = "cancelled"

    async def stop(self) -> None:
        """Ends a try that runs, and waits for its end."""
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    def report(self) -> dict[str, Any]:
        """Returns what is kept, and the last try (docs/reference/http.md)."""
        return report_of(self._kept, self._try, self._history, self._measures)

    async def _run(self, choice: RuleChoice, tried: RuleTry) -> None:
        try:
            async with self._slot:
                tried.state = "running"
                await self._try_rounds(choice, tried)
            tried.state = "done"
        except asyncio.CancelledError:
            tried.state = "cancelled"
        except MingaError as error:
            tried.state, tried.reason = "failed", str(error)
        except Exception:
            # A shell: an unexpected error ends the try, not the task.
            log.exception("a reaggregation failed", task=self._task.file.name)
            tried.state, tried.reason = "failed", "It failed for a reason that the server's log says."

    async def _try_rounds(self, choice: RuleChoice, tried: RuleTry) -> None:
        async with AsyncExitStack() as stack:
            opened = await asyncio.to_thread(self._kept.open_rows)
            for one in opened:
                stack.callback(one.close)
            tried.planned = len(opened)
            folder = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="reaggregation-", dir=self._folder)
            )
            evaluator = await stack.enter_async_context(self._evaluator()) if self._measures else None
            stored = await self._history.read_version(opened[0].round.version)
            made = ReaggregatedRound(stored.weights, stored.state)
            for one in opened:
                made = await _in_thread(partial(self._reaggregate, choice, tried.attackers, one, made))
                path = Path(folder) / f"{one.round.made}.weights"
                distance = await self._compare(one.round, path, made.weights)
                evaluation = await evaluator.measure(one.round.made, path) if evaluator else None
                path.unlink()
                tried.rounds.append(TriedRound(one.round, made.left_out, distance, evaluation))

    def _evaluator(self) -> OneByOneEvaluator:
        return OneByOneEvaluator(
            self._task.bundle.folder, self._task.shards.holdout, f"{self._task.file.name} (reaggregation)"
        )

    def _reaggregate(
        self, choice: RuleChoice, attackers: int, kept: KeptRows, before: ReaggregatedRound
    ) -> ReaggregatedRound:
        seed = int.from_bytes(self._draw(SEED_BYTES), "big")
        rule = choice.aggregator(max(0, attackers - kept.round.refused), seed)
        trainable = self._task.bundle.manifest.parameters.trainable
        return reaggregate(kept, rule, choice.is_mean, before, self._task.server_optimizer(), trainable)

    async def _compare(self, round: KeptRound, path: Path, weights: Vector) -> Distance:
        """Writes the weights to `path`, and returns how far they are from the version that was made."""
        record = next(one for one in self._history.versions if one.version == round.made)
        real, layout = await self._blobs.path(record.weights), self._task.bundle.manifest.layout

        def compare() -> Distance:
            path.write_bytes(to_bytes(weights))
            return distances(real, path, layout)[0]

        return await _in_thread(compare)


async def _in_thread(work: Callable[[], Result]) -> Result:
    """Runs `work` in a thread and waits for its end, even when cancelled: its files are closed afterwards."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise
