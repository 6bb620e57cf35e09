"""The trainings of the benchmark: one for each split, rule, attack and seed, kept in files to resume."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from backend.lab.robustness.attack_plan import NO_ATTACK
from backend.lab.robustness.rule_names import PLAIN, REPUTATION, judged_table, rule_of
from backend.lab.robustness.training_curves import TrainingCurves, curves_of

if TYPE_CHECKING:
    from backend.lab.robustness.attacked_training import RobustnessLab


@dataclass(frozen=True)
class Cell:
    """One training; `alpha` None splits the examples evenly. With `groups` the rule sees masked sums only."""

    task: str
    clients: int
    attackers: int
    rounds: int
    alpha: float | None
    rule: str
    attack: str
    seed: int
    groups: int = 0

    @property
    def file_name(self) -> str:
        """The name of its file, with all that its result depends on."""
        split = "iid" if self.alpha is None else f"alpha{self.alpha:g}"
        people = f"{self.attackers}of{self.clients}"
        rule = f"{self.rule}-g{self.groups}" if self.groups else self.rule
        return f"{self.task}-{people}-r{self.rounds}-{split}-{rule}-{self.attack}-s{self.seed}.json"


@dataclass(frozen=True)
class CellResult(TrainingCurves):
    """The curves of one training, and the seconds that it took."""

    seconds: float


@dataclass(frozen=True)
class Grid:
    """What the benchmark trains. The plain mean without attack is added for each split and seed.

    With `groups`, rules run over the means of so many masked groups; the plain mean has none.
    """

    task: str
    clients: int
    attackers: int
    rounds: int
    alphas: tuple[float | None, ...]
    rules: tuple[str, ...]
    attacks: tuple[str, ...]
    seeds: int
    groups: int = 0

    def cells(self) -> Iterator[Cell]:
        """Yields the trainings, those without attack first."""
        attacks = (NO_ATTACK, *(attack for attack in self.attacks if attack != NO_ATTACK))
        rules = (PLAIN, *(rule for rule in self.rules if rule != PLAIN))
        for seed, alpha, attack, rule in product(range(self.seeds), self.alphas, attacks, rules):
            groups = 0 if rule == PLAIN else self.groups
            yield Cell(
                self.task, self.clients, self.attackers, self.rounds, alpha, rule, attack, seed, groups
            )


def run_cell(lab: RobustnessLab, cell: Cell) -> CellResult:
    """Trains one cell."""
    from backend.lab.robustness.attack_plan import plan_attack
    from backend.lab.robustness.attacked_training import AttackedTraining
    from backend.lab.robustness.judged_training import JudgedTraining

    started = time.perf_counter()
    parts = lab.task.split(cell.clients, cell.alpha, cell.seed)
    attack = plan_attack(cell.attack, lab.task, cell.seed)
    training: AttackedTraining
    if cell.rule.startswith(REPUTATION):
        table = judged_table(cell.rule.removeprefix(REPUTATION), cell.attackers)
        training = JudgedTraining(lab, parts, cell.attackers, attack, cell.seed, table)
    else:
        rule = None if cell.rule == PLAIN else partial(rule_of, cell.rule)
        training = AttackedTraining(lab, parts, cell.attackers, attack, rule, cell.seed, cell.groups)
    outcomes = list(training.run(cell.rounds))
    seconds = round(time.perf_counter() - started, 2)
    return CellResult(**asdict(curves_of(outcomes)), seconds=seconds)


def run_cells(lab: RobustnessLab, cells: Iterable[Cell], folder: Path | None) -> dict[Cell, CellResult]:
    """Trains the cells that have no file in `folder` yet; writes a file after each, and reports it."""
    results = {}
    for cell in cells:
        path = None if folder is None else folder / cell.file_name
        if path is not None and (kept := read_result(path)) is not None:
            results[cell] = kept
            continue
        results[cell] = run_cell(lab, cell)
        if path is not None:
            write_result(path, results[cell])
        print(f"{cell.file_name}: {results[cell].final_accuracy:.4f}", file=sys.stderr, flush=True)
    return results


def read_result(path: Path) -> CellResult | None:
    """Returns the result in a file; None without file, and for one with other fields."""
    if not path.is_file():
        return None
    facts = json.loads(path.read_text("utf-8"))
    return CellResult(**facts) if facts.keys() == {one.name for one in fields(CellResult)} else None


def write_result(path: Path, result: CellResult) -> None:
    """Writes a file as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_file = path.with_suffix(".partial")
    partial_file.write_text(json.dumps(asdict(result)), "utf-8")
    partial_file.replace(path)
