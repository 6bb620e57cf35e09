"""The table of the benchmark: every attack with every defence, early and late, often and seldom."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.btard.local_mesh import LocalMesh
from benchmarks.btard.mesh_training import train_in_mesh
from benchmarks.btard.picture_task import PictureTask
from benchmarks.btard.trial import ProcessResult, Trial, TrialResult
from benchmarks.btard.undefended_training import train_undefended
from benchmarks.btard.work_attacks import AttackPlan

MEAN, CLIP, BTARD = "mean", "clip", "btard"
DEFENCES = (MEAN, CLIP, BTARD)


@dataclass(frozen=True)
class TableCell:
    """One training; without `attack` all are honest, and `start` and `every` mean nothing."""

    defence: str
    attack: str | None
    start: int
    every: int
    seed: int


@dataclass(frozen=True)
class Table:
    """What is trained, and with which members.

    `radius` is per root of a part's size, None to measure it; `contiguous` is that of trials. Attacks on
    BTARD that begin in a round of `by_processes` meet real peers, which have `patience` seconds.
    """

    task: PictureTask
    rounds: int
    peers: int
    byzantine: int
    validators: int
    radius: float | None
    defences: Sequence[str]
    attacks: Sequence[str]
    starts: Sequence[int]
    every: Sequence[int]
    seeds: int
    contiguous: bool = False
    by_processes: Sequence[int] = ()
    patience: float = 5.0

    def cells(self) -> Iterator[TableCell]:
        """Yields the trainings: for each seed the clean mean and BTARD, then the attacked ones."""
        for seed in range(self.seeds):
            yield TableCell(MEAN, None, 1, 1, seed)
            if BTARD in self.defences:
                yield TableCell(BTARD, None, 1, 1, seed)
            for start, every, attack, defence in product(
                self.starts, self.every, self.attacks, self.defences
            ):
                yield TableCell(defence, attack, start, every, seed)

    def run(self, cell: TableCell) -> TrialResult:
        """Trains one cell."""
        attack = None if cell.attack is None else AttackPlan(cell.attack, cell.start, cell.every)
        trial = Trial(
            self.task,
            self.rounds,
            cell.seed,
            peers=self.peers,
            byzantine=self.byzantine if attack else 0,
            attack=attack,
            radius=self.radius,
            validators=self.validators,
            contiguous=self.contiguous,
        )
        if self._is_by_processes(cell):
            return _train_by_processes(trial, self.patience)
        if cell.defence == BTARD:
            return train_in_mesh(LocalMesh(trial))
        return train_undefended(trial, cell.defence == CLIP)

    def result_of(self, cell: TableCell, written: str) -> TrialResult:
        """Returns the result of a cell that is `written` in its file."""
        kind = ProcessResult if self._is_by_processes(cell) else TrialResult
        return kind(**json.loads(written))

    def _is_by_processes(self, cell: TableCell) -> bool:
        return cell.defence == BTARD and cell.attack is not None and cell.start in self.by_processes

    def file_name(self, cell: TableCell) -> str:
        """Returns the name of a cell's file, with all that its result depends on."""
        radius = "auto" if self.radius is None else f"{self.radius:g}"
        cut = "-contiguous" if self.contiguous else ""
        people = f"{self.byzantine}of{self.peers}-m{self.validators}-radius{radius}{cut}"
        when = f"{cell.attack or 'clean'}-{cell.start}-{cell.every}"
        members = "processes-" if self._is_by_processes(cell) else ""
        name = f"{self.task.name}-r{self.rounds}-{people}-{cell.defence}-{when}-s{cell.seed}.json"
        return members + name


def _train_by_processes(trial: Trial, patience: float) -> TrialResult:
    # Brings with it all that a peer needs.
    from benchmarks.btard.processes.mesh_run import MeshProcesses

    # Real members' updates are steps at the task's rate; those of this process have a rate of 1.
    radius = None if trial.radius is None else trial.radius * trial.task.rate
    with tempfile.TemporaryDirectory(prefix="minga-btard-", ignore_cleanup_errors=True) as folder:
        return MeshProcesses(replace(trial, radius=radius), 0, patience).train(Path(folder))


def run_table(table: Table, folder: Path | None) -> dict[TableCell, TrialResult]:
    """Trains the cells that have no file in `folder` yet; writes a file after each, and reports it."""
    results = {}
    for cell in table.cells():
        path = None if folder is None else folder / table.file_name(cell)
        if path is not None and path.is_file():
            results[cell] = table.result_of(cell, path.read_text("utf-8"))
            continue
        began = time.monotonic()
        results[cell] = table.run(cell)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(results[cell])), "utf-8")
        seconds = time.monotonic() - began
        print(f"{table.file_name(cell)}: {results[cell].accuracy:.4f} in {seconds:.0f} s", file=sys.stderr)
    return results


def rows(results: Mapping[TableCell, TrialResult]) -> list[dict[str, Any]]:
    """Returns a row for each defence, attack, start and cadence: means over the seeds, and sums of faults."""
    keys = dict.fromkeys((cell.defence, cell.attack, cell.start, cell.every) for cell in results)
    return [_row(results, *key) for key in keys]


def summary(table: Sequence[Mapping[str, Any]], byzantine: int) -> dict[str, Any]:
    """Returns the figures that the goals are about; None of what was not run.

    Gaps are the clean accuracy of the mean minus that under an attack. `banned` is the least number of bans
    in a training under attack, `rounds_to_last_ban` the largest mean of trainings in which all liars were
    banned.
    """
    clean = next(row["accuracy"] for row in table if (row["defence"], row["attack"]) == (MEAN, None))
    attacked = [row for row in table if row["attack"] is not None]
    figures: dict[str, Any] = {"accuracy_clean": clean}
    for defence in DEFENCES:
        gaps = [round(clean - row["accuracy"], 4) for row in attacked if row["defence"] == defence]
        figures[f"worst_gap_{defence}"] = max(gaps, default=None)
    clip_gaps = {
        row["attack"] for row in attacked if row["defence"] == CLIP and clean - row["accuracy"] >= 0.15
    }
    defended = [row for row in table if row["defence"] == BTARD]
    under_attack = [row for row in defended if row["attack"] is not None]
    last = [row["rounds_to_last_ban"] for row in under_attack if row["least_banned"] >= byzantine]
    return figures | {
        "worst_gap": figures[f"worst_gap_{BTARD}"],
        "clip_attacks_below": sorted(clip_gaps),
        "banned": min((row["least_banned"] for row in under_attack), default=None),
        "banned_honest": sum(row["banned_honest"] for row in defended),
        "rounds_to_last_ban": max(last, default=None),
        "different_bits": sum(row["different_bits"] for row in defended),
        "lost": sum(row["lost"] for row in defended),
    }


def text_table(table: Sequence[Mapping[str, Any]]) -> str:
    """Returns the accuracy in percent of attacks by defences, and bans of the last, as lines of a table."""
    kinds = dict.fromkeys((row["attack"], row["start"], row["every"]) for row in table)
    found = {(row["defence"], row["attack"], row["start"], row["every"]): row for row in table}
    lines = ["attack\tfrom\tevery\t" + "\t".join(DEFENCES) + "\tbanned\tlast ban\texchanges"]
    for attack, start, every in kinds:
        of_kind = [found.get((defence, attack, start, every)) for defence in DEFENCES]
        accuracies = ["-" if row is None else f"{100 * row['accuracy']:.1f}" for row in of_kind]
        defended = of_kind[-1] or {}
        bans = [defended.get(name, "-") for name in ("least_banned", "rounds_to_last_ban", "exchanges")]
        lines.append("\t".join(map(str, (attack or "none", start, every, *accuracies, *bans))))
    return "\n".join(lines)


def _row(
    results: Mapping[TableCell, TrialResult], defence: str, attack: str | None, start: int, every: int
) -> dict[str, Any]:
    chosen = (defence, attack, start, every)
    found = [
        result
        for cell, result in results.items()
        if (cell.defence, cell.attack, cell.start, cell.every) == chosen
    ]
    last = [one.rounds_to_last_ban for one in found if one.rounds_to_last_ban is not None]
    return {
        "defence": defence,
        "attack": attack,
        "start": start,
        "every": every,
        "accuracy": round(_mean([one.accuracy for one in found]), 4),
        "lowest": min(min(one.curve[(start - 1) // 10 :], default=one.accuracy) for one in found),
        "least_banned": min(one.banned for one in found),
        "banned_honest": sum(one.banned_honest for one in found),
        "rounds_to_last_ban": round(_mean(last), 1) if last else None,
        "different_bits": sum(one.different_bits for one in found),
        "lost": sum(one.lost for one in found),
        "exchanges": round(_mean([one.exchanges for one in found]), 1),
        "seeds": len(found),
    } | _process_figures([one for one in found if isinstance(one, ProcessResult)])


def _process_figures(found: Sequence[ProcessResult]) -> dict[str, Any]:
    if not found:
        return {}
    return {
        "long_rounds": sum(one.long_rounds for one in found),
        "seconds_a_round": round(_mean([one.seconds_a_round for one in found]), 3),
    }


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given)
