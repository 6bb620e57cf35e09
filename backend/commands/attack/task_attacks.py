"""Runs the attack lab on a task, and reports on the terminal and in JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from backend.commands.tasks.task_path import task_file_at
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.terminal.report_file import check_folder, write_report
from backend.commands.terminal.tables import indented, listing
from backend.datasets.sharding.cut import CutPlan, cut
from backend.errors import DataError, SettingsError, TaskFileError
from backend.formats.task_file import RobustTable, TaskFile, read_task_file
from backend.lab.robustness.attack_plan import plan_attack
from backend.lab.robustness.attacked_training import RobustnessLab
from backend.lab.robustness.robustness_task import RobustnessTask, open_robustness_task
from backend.lab.socket_lab.attack_grid import AttackGrid, AttackReport, AttackResult, GridSettings
from backend.lab.socket_lab.html_report import html_report, setting_sentence
from backend.lab.socket_lab.task_copy import LabCohort, read_tables
from backend.peer.training.graphs import open_bundle

DEFAULT_RULE = "nnm+trimmed-mean"
DEFAULT_ATTACKS = ("sign-flip", "alie", "min-max", "model-replacement")


def run(args: argparse.Namespace) -> int:
    """Attacks the task. Raises MingaError."""
    if args.report is not None:
        check_folder(args.report)
    path = task_file_at(Path(args.task))
    overrides = tuple(args.overrides)
    with (
        tempfile.TemporaryDirectory(prefix="minga-attack-") as scratch,
        TerminalProgress("Opening the task.", quiet=args.json) as progress,
    ):
        folder = Path(scratch)
        shards = shards_of_own_data(path, overrides, args.data, folder) if args.data is not None else None
        task = open_robustness_task(path, overrides, shards)
        settings = GridSettings(
            rules=args.rules or [_own_rule(task.file.security.robust)],
            attacks=args.attacks or _fitting_attacks(task, args.seed),
            cohort=LabCohort(args.clients, args.attackers, args.rounds),
            alpha=args.alpha,
            seed=args.seed,
        )
        grid = AttackGrid(RobustnessLab(task), read_tables(path, overrides), settings)
        report = asyncio.run(
            grid.run(folder, lambda done, total, text: progress.amount(done, total, f"Training: {text}"))
        )
    if args.report is not None:
        write_report(args.report, html_report(report))
    if args.json:
        print(json.dumps(facts_of(report)))
    else:
        _print(report, args.report)
    return 0


def facts_of(report: AttackReport) -> dict[str, Any]:
    """Returns the report for JSON."""
    settings, cohort = report.settings, report.settings.cohort
    return {
        "task": report.task,
        "parameters": report.parameters,
        "clients": cohort.clients,
        "attackers": cohort.attackers,
        "rounds": cohort.rounds,
        "alpha": settings.alpha,
        "seed": settings.seed,
        "clean": round(report.clean, 4),
        "rows": [_row(report, result) for result in report.results],
    }


def _row(report: AttackReport, result: AttackResult) -> dict[str, Any]:
    curves, backdoor = result.curves, result.curves.final_backdoor
    return {
        "rule": result.rule,
        "attack": result.attack,
        "accuracy": round(curves.final_accuracy, 4),
        "share_of_clean": round(report.share(result), 4),
        "backdoor": None if backdoor is None else round(backdoor, 4),
        "honest_ejections": curves.honest_ejections,
        "refused": curves.refused,
        "abandoned": curves.abandoned,
        "reason": curves.reason,
        "accuracy_curve": curves.accuracy,
        "backdoor_curve": curves.backdoor,
    }


def _print(report: AttackReport, page: Path | None) -> None:
    console = Console(highlight=False)
    console.print(f"\n  {escape(setting_sentence(report))}\n", soft_wrap=True)
    table = listing("rule", "attack", ">of clean", ">backdoor", ">left out", ">refused")
    for result in report.results:
        curves, backdoor = result.curves, result.curves.final_backdoor
        table.add_row(
            result.rule,
            result.attack,
            f"{report.share(result):.0%}",
            "" if backdoor is None else f"{backdoor:.0%}",
            str(curves.honest_ejections),
            str(curves.refused),
        )
    console.print(indented(table, below=1))
    for result in report.results:
        if result.curves.abandoned:
            words = f"{result.rule}, {result.attack}: abandoned rounds: {result.curves.abandoned}."
            console.print(f"  {escape(words)} {escape(result.curves.reason or '')}", soft_wrap=True)
    console.print(
        f"  Clean is the mean without attack: {report.clean:.1%} on held-out examples.\n"
        "  Left out are honest updates that a rule did not use, in all rounds."
    )
    if page is not None:
        console.print(f"  Curves: {escape(str(page))}", soft_wrap=True)


def _own_rule(table: RobustTable | None) -> str:
    """Returns the task's rule as the lab names it; a default for none, or one with numbers of its own."""
    if table is None or not all(isinstance(step, str) for step in table.before):
        return DEFAULT_RULE
    return "+".join([*map(str, table.before), table.rule])


def _fitting_attacks(task: RobustnessTask, seed: int) -> list[str]:
    """Returns the default attacks, without those that do not fit the task's examples."""
    fitting = []
    for name in DEFAULT_ATTACKS:
        try:
            plan_attack(name, task, seed)
        except SettingsError:
            continue
        fitting.append(name)
    return fitting


def shards_of_own_data(
    path: Path, overrides: tuple[str, ...], data: Path, folder: Path, holdout: float = 0.1
) -> Path:
    """Cuts the data at `data` as the task preprocesses volunteers' own; returns the folder of the shards.

    A share of `holdout` at least is held out. Raises TaskFileError, BundleError and DataError.
    """
    file: TaskFile = read_task_file(path, overrides)
    if file.data.own is None or file.data.preprocess is None:
        raise TaskFileError(f"{path}: the task provides its examples; leave --data out.")
    bundle = path.parent / file.model.bundle
    if not (bundle / "bundle.json").is_file():
        raise TaskFileError(
            f"{path}: it has no bundle in {bundle}. Run `minga build {path.parent.name}` first."
        )
    shards = folder / "shards"
    shards.mkdir()

    def broken(error: DataError) -> None:
        raise error

    plan = CutPlan(file.data.preprocess, holdout=max(file.data.own.holdout, holdout))
    cut(data, plan, shards, open_bundle(bundle, ()).manifest, broken, lambda _count: None)
    return shards
