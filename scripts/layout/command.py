"""Runs the measurement from the command line: `python scripts/house.py [--check] [--json] [--before REV]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.layout import report
from scripts.layout.figures import FIGURES
from scripts.layout.measure import Counts, Reader, count
from scripts.layout.settings import HERE, Settings, lower_ceilings, read_settings
from scripts.layout.tree import git, revision, working_tree

HOUSE = HERE / "house.toml"
ROOT = HERE.parents[1]
NAMES = [figure.name for figure in FIGURES]


def main(arguments: Sequence[str], root: Path = ROOT, house: Path = HOUSE) -> int:
    """Runs the command. Exit code 1: `--check` found a count above its ceiling in `house`; 2: git failed."""
    options = _parser().parse_args(arguments)
    if options.roads:
        # Imported here because it imports the project; the other figures work without.
        from scripts.roads.command import measure, show

        show(measure(), options.json, options.verbose)
        return 0
    try:
        return _run(options, root, house)
    except subprocess.CalledProcessError as error:
        print(error.stderr.decode(), file=sys.stderr)
        return 2


def _run(options: argparse.Namespace, root: Path, house: Path) -> int:
    settings, reader = read_settings(house), Reader()
    after = count(reader.read(working_tree(root)), settings)
    if options.check:
        return _check(root, house, reader, after)
    if options.lower:
        counts = {name: len(culprits) for name, culprits in after.items()}
        house.write_text(lower_ceilings(house.read_text("utf-8"), counts), "utf-8")
        settings = read_settings(house)
    before = count(reader.read(revision(root, options.before)), settings) if options.before else None
    if options.json:
        print(report.as_json(after, before))
        return 0
    print(report.table(after, before, settings))
    if names := NAMES if options.verbose else options.list:
        print(report.listed(after, names))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python scripts/house.py", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a count is above its ceiling")
    parser.add_argument("--json", action="store_true", help="print one JSON object, with all culprits")
    parser.add_argument("--before", metavar="REV", help="measure this git revision, too")
    parser.add_argument(
        "--list", action="append", default=[], choices=NAMES, help="print a figure's culprits"
    )
    parser.add_argument("--verbose", action="store_true", help="print the culprits of all figures")
    parser.add_argument("--roads", action="store_true", help="count the files that three flows run through")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to today's counts")
    return parser


def _check(root: Path, house: Path, reader: Reader, after: Counts) -> int:
    settings = read_settings(house)
    before = (
        _counts_at_last_ceilings(root, house, reader, settings) if report.exceeded(after, settings) else None
    )
    complaints = list(report.complaints(after, before, settings))
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if improved := report.slack(after, settings):
        print(f"Better than its ceiling: {', '.join(improved)}. `python scripts/house.py --lower` lowers it.")
    return int(bool(complaints))


def _counts_at_last_ceilings(root: Path, house: Path, reader: Reader, settings: Settings) -> Counts | None:
    """Returns the counts of the commit that last changed the ceilings, or None if git has none."""
    try:
        name = git(root, "log", "-1", "--format=%H", "--", str(house)).decode().strip()
        return count(reader.read(revision(root, name)), settings) if name else None
    except subprocess.CalledProcessError:
        return None
