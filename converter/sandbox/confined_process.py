"""Runs a module in a confined process.

Usage: `python -m converter.sandbox.confined_process [limits] --read PATH --write DIR MODULE ARGUMENT...`.
Code that reads untrusted data gets the same confinement as a conversion: no network, no other programs, no
files except the named ones. The module is trusted; the files that it opens are not.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from converter.sandbox.confinement import confine
from converter.sandbox.process_limits import Limits, apply_limits, end_with_parent


def main() -> None:
    """Confines this process, then runs the module in it."""
    parser = argparse.ArgumentParser("python -m converter.sandbox.confined_process")
    defaults = Limits()
    parser.add_argument("--cpu-seconds", type=int, default=defaults.cpu_seconds)
    parser.add_argument("--memory-bytes", type=int, default=defaults.memory_bytes)
    parser.add_argument("--file-bytes", type=int, default=defaults.file_bytes)
    parser.add_argument("--read", type=Path, action="append", default=[], help="a file or folder to read")
    parser.add_argument("--write", type=Path, action="append", default=[], help="a folder to write into")
    parser.add_argument("module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    end_with_parent()
    apply_limits(Limits(args.cpu_seconds, args.memory_bytes, args.file_bytes))
    for sentence in confine(args.read, args.write):
        print(f"sandbox: {sentence}.", file=sys.stderr)
    sys.argv[1:] = args.arguments
    runpy.run_module(args.module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
