"""`minga convert`: a Keras model and a task file become a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from backend.services.conversion import ConversionLimits, convert

FORMATS = "a .keras or .h5 file, a SavedModel folder, a TF.js model.json, or a zip of one of them"


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "convert", help="make a training bundle of a Keras model"
    )
    defaults = ConversionLimits()
    parser.add_argument("model", type=Path, metavar="MODEL", help=FORMATS)
    parser.add_argument("--task", type=Path, required=True, metavar="FILE", help="the task file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="new folder for the bundle"
    )
    parser.add_argument(
        "--custom",
        type=Path,
        metavar="FILE",
        help="a Python file of your own with the model's layers; it is run, so never take a stranger's",
    )
    parser.add_argument("--timeout", type=float, default=defaults.wall_seconds, metavar="SECONDS")
    parser.add_argument("--memory", type=float, default=defaults.memory_bytes / (1 << 30), metavar="GIB")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Converts; says what came out."""
    limits = ConversionLimits(wall_seconds=args.timeout, memory_bytes=int(args.memory * (1 << 30)))
    print(convert(args.model, args.task, args.output, limits, args.custom))
    return 0
