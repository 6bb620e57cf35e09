"""Runs the privacy accountant in a separate process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from typing import TypeVar

import msgspec

from backend.errors import TaskFileError
from backend.server.privacy.epsilon import Query

Answer = TypeVar("Answer")

SECONDS = 300.0


def ask_accountant(query: Query, kind: type[Answer]) -> Answer:
    """Returns the accountant's answer. Blocks for seconds: call it in a thread. Raises TaskFileError."""
    if importlib.util.find_spec("dp_accounting") is None:
        raise TaskFileError("[privacy] needs dp-accounting: pip install 'minga[privacy]'.")
    command = (sys.executable, "-m", "backend.server.privacy.epsilon")
    try:
        done = subprocess.run(  # noqa: S603 - no part of the command is user input.
            command, input=msgspec.json.encode(query), capture_output=True, timeout=SECONDS, check=True
        )
        return msgspec.json.decode(done.stdout, type=kind)
    except subprocess.TimeoutExpired as error:
        raise TaskFileError(
            f"The privacy accountant had no figure after {SECONDS:.0f} s; take more noise or fewer rounds."
        ) from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise TaskFileError(f"The privacy accountant failed: {last[:300]}") from error
