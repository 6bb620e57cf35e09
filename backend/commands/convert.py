"""`minga convert`: a Keras model and a task file become a bundle."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from backend.services.conversion import ConversionLimits, convert


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "convert", help="make a training bundle of a Keras model"
    )
    defaults = ConversionLimits()
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .keras file")
    parser.add_argument("--task", type=Path, required=True, metavar="FILE", help="the task file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="new folder for the bundle"
    )
    parser.add_argument("--timeout", type=float, default=defaults.wall_seconds, metavar="SECONDS")
    parser.add_argument("--memory", type=float, default=defaults.memory_bytes / (1 << 30), metavar="GIB")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Converts; says what came out."""
    limits = ConversionLimits(wall_seconds=args.timeout, memory_bytes=int(args.memory * (1 << 30)))
    print(convert(args.model, args.task, args.output, limits))
    return 0
