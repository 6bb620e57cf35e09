"""`minga convert`: converts a Keras model and a task file to a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from backend.commands.converter_flags import FORMATS, add_flags, limits_of
from backend.commands.terminal.progress import TerminalProgress
from backend.formats.exact_program import read_exact_program
from backend.server.sandbox.conversion import convert
from backend.server.sandbox.limited_process import Supervision
from backend.settings import dist_folder

# Shown at the end of the help.
EXAMPLES = ("minga convert model.keras --task task.toml -o bundle",)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("convert", examples=EXAMPLES)
    parser.add_argument("model", type=Path, metavar="MODEL", help=FORMATS)
    parser.add_argument("--task", type=Path, required=True, metavar="FILE", help="the task file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="new folder for the bundle"
    )
    add_flags(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Converts the model and prints a summary."""
    program = read_exact_program(dist_folder())
    with TerminalProgress("Starting the conversion.") as progress:
        limits = limits_of(args)
        supervision = Supervision(progress.step)
        message = convert(
            args.model, args.task, args.output, limits, args.custom, supervision, program=program
        )
    print(message)
    return 0
