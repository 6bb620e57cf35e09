"""`minga task integrity`: looks for signs of a backdoor in a version of a task or a model file."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from backend.commands.server_client import ServerClient
from backend.commands.tasks.download import ACCEPTED, MAX_WAIT_SECONDS
from backend.commands.tasks.integrity_data import examples_at, updates_at
from backend.commands.tasks.task_folder import MODELS
from backend.commands.terminal.progress import TerminalProgress
from backend.commands.tokens import reading_server
from backend.errors import BundleError, SettingsError, UnreachableError
from backend.server.sandbox.integrity import IntegrityMeasurement, measure_integrity, score_integrity
from backend.server.sandbox.limited_process import Supervision


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `TARGET`, `--version`, `--against`, `--data` and `--updates`."""
    parser.add_argument(
        "target", metavar="TARGET", help="a task of the server, or a model file (.keras, .h5)"
    )
    parser.add_argument("--version", type=int, metavar="N", help="the version; default: the newest")
    parser.add_argument("--against", metavar="M", help="an earlier version, or file, to compare with")
    parser.add_argument(
        "--data", type=Path, metavar="PATH", help="an .npz with x and y, or a built task; for a FILE"
    )
    parser.add_argument("--updates", type=Path, metavar="FILE", help="an .npz with the updates of a round")


def run(args: argparse.Namespace) -> int:
    """Measures, and prints the score with its parts. Raises MingaError."""
    path = Path(args.target)
    is_file = path.exists() or path.suffix in MODELS
    report = _file_report(args) if is_file else _version_report(reading_server(args.server), args)
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print("\n".join(report_lines(report)))
    return 0


def report_lines(report: Mapping[str, Any]) -> list[str]:
    """Returns the report as lines: the score, and each part with its reason."""
    score = report["score"]
    if score is None:
        head = "no score, since no part could be measured"
    else:
        head = f"{score:.2f}, {'suspect' if report['suspect'] else 'no sign of a backdoor'}"
    against = "" if report["against"] is None else f" against {report['against']}"
    lines = [f"{report['model']}{against}: {head} (0 no sign, 1 strong signs; suspect from 0.5)"]
    for part in report["parts"]:
        value = "  - " if part["score"] is None else f"{part['score']:.2f}"
        lines.append(f"  {part['name']:<8} {value}  {part['reason']}")
    return lines


def _version_report(server: ServerClient, args: argparse.Namespace) -> dict[str, Any]:
    for flag, value in (("--data", args.data), ("--updates", args.updates)):
        if value is not None:
            raise SettingsError(f"{flag} is for a model file; the server measures {args.target} itself.")
    name, against = args.target, args.against
    if against is not None and not against.isdecimal():
        raise SettingsError(f"A version of {name} is compared with another, by its number, not '{against}'.")
    version = server.summary(name)["version"] if args.version is None else args.version
    path = f"/api/tasks/{quote(name, safe='')}/versions/{version}/integrity"
    path += "" if against is None else f"?against={against}"
    with TerminalProgress(f"{server.url} measures version {version}.", quiet=args.json):
        report = _wait_for_score(server, path)
    return {**report, "model": f"{name}, version {version}"}


def _wait_for_score(server: ServerClient, path: str) -> dict[str, Any]:
    """Asks until the server has measured. Raises MingaError, also after MAX_WAIT_SECONDS."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while (answer := server.send("GET", path)).status == ACCEPTED:
        if time.monotonic() > deadline:
            raise UnreachableError(f"{server.url} did not measure in {MAX_WAIT_SECONDS:.0f} seconds.")
        time.sleep(float(answer.headers.get("retry-after", 1)))
    try:
        report: dict[str, Any] = answer.json
    except ValueError as error:
        raise UnreachableError(f"{server.url} is no Minga server; check the address.") from error
    return report


def _file_report(args: argparse.Namespace) -> dict[str, Any]:
    model = _model_file(args.target)
    other = None if args.against is None else _model_file(args.against)
    if args.version is not None:
        raise SettingsError("--version is for a task of a server; a model file is one version.")
    if args.data is None:
        raise SettingsError(
            "A model file is measured on examples: name an .npz with x and y, or a built task, with --data."
        )
    examples = examples_at(args.data)
    updates = None if args.updates is None else updates_at(args.updates)
    with (
        tempfile.TemporaryDirectory(prefix="minga-integrity-") as folder,
        TerminalProgress("Starting the integrity check.", quiet=args.json) as progress,
    ):

        def measured(file: Path) -> IntegrityMeasurement:
            return measure_integrity(file, examples, Path(folder), supervision=Supervision(progress.step))

        measurement = measured(model)
        score = score_integrity(measurement, None if other is None else measured(other), updates)
    report = {"model": str(model), "against": None if other is None else str(other)}
    return report | asdict(score)


def _model_file(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise BundleError(f"There is no file {path}; check the path.")
    return path
