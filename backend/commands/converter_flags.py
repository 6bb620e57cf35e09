"""Defines the flags of the commands that convert a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from backend.server.sandbox.conversion import ConversionLimits

FORMATS = "a .keras or .h5 file, a SavedModel folder, a TF.js model.json, or a zip of one of them"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Adds `--custom`, `--timeout` and `--memory`."""
    defaults = ConversionLimits()
    parser.add_argument(
        "--custom",
        type=Path,
        metavar="FILE",
        help="your Python file that defines the model's layers; it is executed, so never use a stranger's",
    )
    seconds, gibibytes = defaults.wall_seconds, defaults.memory_bytes / (1 << 30)
    parser.add_argument(
        "--timeout",
        type=float,
        default=seconds,
        metavar="SECONDS",
        help=f"time limit for the conversion, default {seconds:g}",
    )
    parser.add_argument(
        "--memory",
        type=float,
        default=gibibytes,
        metavar="GIB",
        help=f"memory limit for the conversion, default {gibibytes:g}",
    )


def limits_of(args: argparse.Namespace) -> ConversionLimits:
    """Returns the limits of a conversion from the flags."""
    return ConversionLimits(wall_seconds=args.timeout, memory_bytes=int(args.memory * (1 << 30)))
