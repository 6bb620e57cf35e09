"""How much accuracy and which backdoors remain when some of the clients attack.

Usage: python -m benchmarks.robustness [--task digits|cifar10] [--rules R ...] [--attacks A ...] [--json]

Trains the task in process (backend/lab/robustness: the peer's trainer and the server's arithmetic, without
its host) with every rule under every attack, on an even split of its examples and on one skewed by
Dirichlet's alpha; `cifar10` takes 4,000 pictures from MINGA_DATA, by default ../shared/data. Prints the table
rule by attack: accuracy in percent, and a backdoor's success behind a slash. The fields are explained in
docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from backend.commands.build import build_task
from backend.errors import MingaError
from backend.lab.attacks.table import DATA_ATTACKS, UPDATE_ATTACKS
from backend.lab.robustness.rule_names import PLAIN, REPUTATION, judged_table, rule_of
from benchmarks.robustness.cells import Grid, run_cells
from benchmarks.robustness.summary import rows, summary, text_table
from benchmarks.support.dense_task import ROOT
from benchmarks.support.training_run import ONE_CORE

RULES = (
    PLAIN,
    "median",
    "trimmed-mean",
    "multi-krum",
    "geometric-median",
    "centered-clip",
    "norm-clip",
    "flame",
    "distinct+dnc",
    "nnm+trimmed-mean",
    "arc+nnm+trimmed-mean",
    "distinct+nnm+trimmed-mean",
    "reputation+distinct+mean",
    "reputation+distinct+nnm+trimmed-mean",
)
ATTACKS = (*UPDATE_ATTACKS, *DATA_ATTACKS)
QUICK_RULES, QUICK_ATTACKS = (PLAIN, "nnm+trimmed-mean"), ("sign-flip", "model-replacement")
QUICK_ROUNDS = 3


def main() -> int:
    options = _options()
    rules = options.rules or _rules(options)
    if refusal := _refusal(options, rules):
        print(refusal, file=sys.stderr)
        return 2
    grid = Grid(
        options.task,
        options.clients,
        options.attackers,
        QUICK_ROUNDS if options.quick else options.rounds,
        (None,) if options.quick else (None, options.alpha),
        tuple(rules),
        tuple(options.attacks or (QUICK_ATTACKS if options.quick else ATTACKS)),
        1 if options.quick else options.seeds,
        options.groups,
    )
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE
    try:
        _check_rules(grid)
        _print(grid, options.runs, options.json)
    except MingaError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _rules(options: argparse.Namespace) -> Sequence[str]:
    """Returns the rules that are compared unless some are named."""
    if options.quick:
        return QUICK_RULES
    return [rule for rule in RULES if not (options.groups and rule.startswith(REPUTATION))]


def _refusal(options: argparse.Namespace, rules: Sequence[str]) -> str | None:
    """Returns what is wrong with the options, None if nothing is."""
    if not 1 <= options.attackers < options.clients or min(options.rounds, options.seeds) < 1:
        return "Give at least 1 attacker, fewer attackers than clients, 1 round and 1 seed."
    if options.groups and not 2 <= options.groups <= options.clients:
        return "--groups is the number of masked groups: 2 or more, and a client for each."
    if options.groups and any(rule.startswith(REPUTATION) for rule in rules):
        return "Masked clients have no reputation: leave out --groups, or name other --rules."
    if options.alpha <= 0:
        return "--alpha is Dirichlet's concentration, a number above 0."
    return None


def _check_rules(grid: Grid) -> None:
    """Raises SettingsError for names that are no rules; before TensorFlow, whose import takes seconds."""
    for rule in grid.rules:
        if rule.startswith(REPUTATION):
            judged_table(rule.removeprefix(REPUTATION), grid.attackers)
        else:
            rule_of(rule, grid.attackers, 0)


def _print(grid: Grid, folder: Path | None, as_json: bool) -> None:
    """Trains what is missing and prints the results. Raises MingaError if attacks or tasks don't fit."""
    from backend.lab.robustness.attack_plan import plan_attack
    from backend.lab.robustness.attacked_training import RobustnessLab
    from backend.lab.robustness.robustness_task import open_robustness_task
    from benchmarks.robustness.sample import cut_pictures

    build_task(ROOT / "models" / grid.task)
    path = ROOT / "models" / grid.task / "task.toml"
    with tempfile.TemporaryDirectory() as scratch:
        shards = cut_pictures(path, Path(scratch)) if grid.task == "cifar10" else None
        task = open_robustness_task(path, shards=shards)
    for attack in grid.attacks:
        plan_attack(attack, task, 0)
    results = run_cells(RobustnessLab(task), grid.cells(), folder)
    if as_json:
        settings = {"task": grid.task, "clients": grid.clients, "attackers": grid.attackers}
        settings |= {"rounds": grid.rounds, "seeds": grid.seeds, "groups": grid.groups}
        print(json.dumps(settings | summary(results) | {"rows": rows(results)}))
        return
    print(text_table(rows(results)), "\n")
    print("\n".join(f"{name}: {value}" for name, value in summary(results).items()))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.robustness", description=__doc__)
    parser.add_argument("--task", choices=("digits", "cifar10"), default="digits")
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--attackers", type=int, default=3, help="of the clients; rules are made for so many")
    parser.add_argument("--rounds", type=int, default=50, help="as many as the task file of digits has")
    parser.add_argument("--seeds", type=int, default=2, help="trainings of each kind")
    parser.add_argument("--alpha", type=float, default=0.3, help="Dirichlet's, of the skewed split")
    parser.add_argument("--rules", nargs="+", help="such as median, nnm+trimmed-mean or reputation+mean")
    parser.add_argument("--attacks", nargs="+", help="of docs/reference/attacks.md")
    parser.add_argument("--groups", type=int, default=0, help="rules see the sums of so many masked groups")
    parser.add_argument("--runs", type=Path, help="a folder of finished trainings, to resume")
    parser.add_argument("--quick", action="store_true", help="two rules, two attacks, 3 rounds, even split")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
