"""Runs the command `minga` and records each update that it trains, before masking.

Usage: `python -m tests.support.peer.update_witness FOLDER peer join URL ...`. Each update is written to a
file of FOLDER, and the progress of each training to its file `steps`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.__main__ import main
from backend.peer.training import training_jobs
from backend.peer.training.engine import PlanData
from backend.peer.training.step import Halt, Vector
from backend.peer.training.trainer import TrainingPlan, TrainingProgress, TrainingResult
from backend.peer.training.training_state import StateSaver
from backend.wire.messages import Train


@dataclass(frozen=True)
class Plain:
    """A client's unmasked update [parameters] of the version at `weights`, which nobody else sees."""

    weights: str
    examples: int
    loss: float
    update: NDArray[np.float32]


def witnessed(folder: Path) -> list[Plain]:
    """Returns a peer's recorded updates, one training per version."""
    found = []
    for path in folder.glob("*.npz"):
        with np.load(path) as file:
            found.append(Plain(path.stem, int(file["examples"]), float(file["loss"]), file["update"]))
    return found


def share_done(folder: Path) -> float:
    """Returns the recorded share of steps of the training in progress."""
    file = folder / "steps"
    lines = file.read_text().splitlines(keepends=True) if file.is_file() else []
    whole = [line for line in lines if line.endswith("\n")]
    done, planned = map(int, whole[-1].split()) if whole else (0, 1)
    return done / planned


def _watch(folder: Path) -> None:
    class Watched(training_jobs.TrainingJobs):
        async def run(
            self,
            plan: TrainingPlan,
            weights: Vector,
            data: PlanData,
            halt: Halt,
            report: Callable[[TrainingProgress], None],
            saver: StateSaver | None = None,
        ) -> TrainingResult:
            def watched(progress: TrainingProgress) -> None:
                with (folder / "steps").open("a") as file:
                    file.write(f"{progress.step} {progress.steps}\n")
                report(progress)

            return await super().run(plan, weights, data, halt, watched, saver)

        async def train(
            self, job: training_jobs.TrainingJob[Train], name: str, report: Callable[[TrainingProgress], None]
        ) -> TrainingResult:
            made = await super().train(job, name, report)
            path = folder / f"{job.order.weights}.npz"
            np.savez(path, update=made.update, examples=made.examples, loss=made.loss)
            return made

    training_jobs.TrainingJobs = Watched  # type: ignore[misc]  # Where the command finds it.


if __name__ == "__main__":
    _watch(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
