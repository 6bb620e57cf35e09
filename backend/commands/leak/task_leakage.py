"""Runs the leakage lab on a task, and reports on the terminal, in JSON and as a page."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from backend.commands.tasks.task_path import task_file_at
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.terminal.report_file import check_folder, write_report
from backend.commands.terminal.tables import listing
from backend.formats.task_file import read_task_file
from backend.lab.leakage.experiment import ATTACKS, LeakageExperiment, LeakageReport, LeakageSettings
from backend.lab.leakage.html_report import html_report, setting_sentence
from backend.lab.leakage.inversion import AttackEffort
from backend.lab.leakage.lab_task import open_lab_task
from backend.lab.leakage.server_views import PROTECTIONS, ProtectionSettings


def run(args: argparse.Namespace) -> int:
    """Attacks the task. Raises MingaError; SettingsError if the report cannot be written."""
    if args.report is not None:
        check_folder(args.report)
    path = task_file_at(Path(args.task))
    file = read_task_file(path, tuple(args.overrides))
    with TerminalProgress("Opening the task.", quiet=args.json) as progress:
        task = open_lab_task(path, file, args.data)
        settings = LeakageSettings(
            protections=list(dict.fromkeys(args.options or PROTECTIONS)),
            attacks=list(dict.fromkeys(args.attacks or ATTACKS)),
            trials=args.pictures,
            examples=args.examples,
            seed=args.seed,
            effort=AttackEffort(steps=args.steps),
            protection=ProtectionSettings.of(file, args.clip, args.noise, args.group),
        )
        with tempfile.TemporaryDirectory() as scratch:
            report = LeakageExperiment(task, settings, Path(scratch)).run(
                lambda done, total, text: progress.amount(done, total, f"{done} of {total}: {text}")
            )
    if args.report is not None:
        write_report(args.report, html_report(report))
    if args.json:
        print(json.dumps(facts_of(report)))
    else:
        _print(report, args.report)
    return 0


def facts_of(report: LeakageReport) -> dict[str, Any]:
    """Returns the report without its pictures, for JSON."""
    settings, protection = report.settings, report.settings.protection
    return {
        "task": report.task,
        "parameters": report.parameters,
        "pictures": settings.trials,
        "examples": settings.examples,
        "steps": report.steps,
        "group": protection.group,
        "clip": protection.clip,
        "noise_multiplier": protection.noise,
        "unrelated": report.unrelated,
        "guessed": report.guessed,
        "options": [
            {
                "option": result.protection,
                "inferred": result.inferred,
                "labels": result.labels,
                "ssim": result.similarity,
                "attacks": result.attacks,
                "pictures": [
                    {"attack": one.attack, "ssim": one.similarity} for one in result.reconstructions
                ],
            }
            for result in report.results
        ],
    }


def _print(report: LeakageReport, page: Path | None) -> None:
    console = Console(highlight=False)
    console.print(f"\n  {escape(setting_sentence(report))}\n")
    table = listing("protection", ">labels", ">SSIM", "best attack", "seen by")
    for result in report.results:
        protection = PROTECTIONS[result.protection]
        best = max(result.attacks, key=lambda name: result.attacks[name])
        row = (f"{result.labels:.0%}", f"{result.similarity:.2f}", best, protection.sees)
        table.add_row(result.protection, *row)
    console.print(Padding(table, (0, 2, 1, 2)))
    console.print(f"  SSIM is 1 for equal pictures; different ones of this task have {report.unrelated:.2f}.")
    if page is not None:
        console.print(f"  Pictures side by side: {escape(str(page))}")
