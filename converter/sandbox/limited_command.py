"""Shared parts of the converter's programs: limits, confinement and the answer.

The last line on standard output is JSON, `{"ok": true, "message": ...}`; after a refusal `ok` is false and
`"code"` is set.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from converter.refusal import Refusal, escaped
from converter.sandbox.confinement import confine
from converter.sandbox.process_limits import Limits, apply_limits, end_with_parent, quiet_tensorflow


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Adds the flags of Limits."""
    defaults = Limits()
    parser.add_argument("--cpu-seconds", type=int, default=defaults.cpu_seconds)
    parser.add_argument("--memory-bytes", type=int, default=defaults.memory_bytes, help="address space")
    parser.add_argument("--file-bytes", type=int, default=defaults.file_bytes, help="largest file written")
    parser.add_argument("--max-parameters", type=int, default=defaults.parameters)


def run_limited(args: argparse.Namespace, what: str, act: Callable[[], str]) -> int:
    """Runs `act` within the limits of `args`, stored as `args.limits`; returns the exit code.

    The answer is written to standard output. `what` names the action for people, such as `conversion`.
    """
    args.limits = Limits(args.cpu_seconds, args.memory_bytes, args.file_bytes, args.max_parameters)
    end_with_parent()
    apply_limits(args.limits)
    quiet_tensorflow()
    try:
        message = act()
    except Refusal as refusal:
        return _answer(False, str(refusal), refusal.code)
    except MemoryError:
        message = f"The {what} needs more memory than it may use; use a smaller model."
        return _answer(False, message, "bad-bundle")
    except ImportError as error:
        message = f"A library cannot be loaded ({error}); allow more memory or install minga[convert]."
        return _answer(False, message, "bad-bundle")
    except OSError as error:
        return _answer(False, f"The {what} could not write its files: {error.strerror}.", "bad-bundle")
    return _answer(True, message)


def enter_sandbox(readable: Iterable[Path], writable: Iterable[Path], temporary: str) -> None:
    """Confines this process (converter/sandbox/confinement.py), with `temporary` as its temporary folder."""
    tempfile.tempdir = os.environ["KERAS_HOME"] = temporary
    for sentence in confine(readable, writable):
        print(f"sandbox: {sentence}.", file=sys.stderr)


def _answer(ok: bool, message: str, code: str | None = None) -> int:
    answer = {"ok": ok, "message": escaped(message)} | ({"code": code} if code else {})
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0 if ok else 1
