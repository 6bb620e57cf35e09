"""Runs `minga` and records what it calls in the backend between two signals.

`python -m scripts.roads.traced_server serve ...`: SIGUSR1 begins the recording, SIGUSR2 ends it and prints
`{"run": [...], "carry": [...], "called": [...]}` as one line of JSON: the files in which functions were
called, those whose functions were given or returned an update's values, and the functions as
`file:function`, in the order of their first calls. SIGUSR1 is answered by a line, too, so that its sender
knows when the recording holds.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from msgspec import Struct

ROOT = Path(__file__).parents[2]
BACKEND = f"{ROOT / 'backend'}/"
# By this function of a module `observer`, dashboards, logs and metrics hear of events; no flow needs them.
NOTICE = ("notice", "observer.py")
# Where the constructors of data classes come from.
GENERATED = "<string>"
# Bytes or arrays of this length are an update's values, or weights: nothing else in the flows is as long.
UPDATE_BYTES = 6000
# Values within a message within an event, but no deeper: hosts and machines hold everything somewhere.
DEPTH = 2
FEW = 16


class Recording:
    """Which functions were called, in all threads, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self._codes: dict[CodeType, None] = {}
        self._carriers: set[CodeType] = set()
        self._modules: set[str] = set()

    def heard(self, frame: FrameType, event: str, result: Any) -> None:
        """See sys.setprofile."""
        if not self.is_on or event not in ("call", "return"):
            return
        code = frame.f_code
        if code.co_filename.startswith(BACKEND) and _carries(result if event == "return" else _given(frame)):
            self._carriers.add(code)
        if event == "return":
            return
        if not code.co_filename.startswith((BACKEND, GENERATED)) or _is_onlooker(frame):
            return
        if code.co_filename == GENERATED:
            # A constructor of a data class, which counts for the file of its class.
            self._modules.add(type(frame.f_locals.get("self")).__module__)
        else:
            self._codes.setdefault(code)

    def begin(self, *_: object) -> None:
        """Forgets what was recorded, and records from now on."""
        self._codes.clear()
        self._carriers.clear()
        self._modules.clear()
        self.is_on = True
        print("recording", flush=True)

    def end(self, *_: object) -> None:
        """Prints files and functions, as paths below the repository."""
        self.is_on = False
        run = {code.co_filename for code in self._codes}
        run |= {getattr(sys.modules.get(name), "__file__", None) or "" for name in self._modules}
        carry = {code.co_filename for code in self._carriers}
        called = [
            f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_qualname}" for code in list(self._codes)
        ]
        print(json.dumps({"run": _paths(run), "carry": _paths(carry), "called": called}), flush=True)


def _paths(names: Iterable[str]) -> list[str]:
    return sorted(str(Path(name).relative_to(ROOT)) for name in names if name.startswith(BACKEND))


def _given(frame: FrameType) -> list[Any]:
    """A function's arguments, without the object whose method it is."""
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals.get(name) for name in names if name != "self"]


def _fields(value: Any) -> tuple[str, ...]:
    """The fields of a message or event; none of a large object, which holds more than that."""
    if isinstance(value, Struct):
        return value.__struct_fields__
    if not is_dataclass(value) or isinstance(value, type):
        return ()
    names = tuple(field.name for field in fields(value))
    return names if len(names) < FEW else ()


def _carries(value: Any, depth: int = -1) -> bool:
    """Whether an update's values are `value`, or lie in the message or event that it is."""
    if isinstance(value, bytes | bytearray):
        return len(value) >= UPDATE_BYTES
    if isinstance(value, memoryview | np.ndarray):
        return value.nbytes >= UPDATE_BYTES
    if depth >= DEPTH:
        return False
    if isinstance(value, list | tuple):
        parts = list(value[:FEW])
    elif isinstance(value, dict):
        parts = list(value.values())[:FEW]
    else:
        parts = [getattr(value, name, None) for name in _fields(value)]
    return any(_carries(part, depth + 1) for part in parts)


def _is_onlooker(frame: FrameType) -> bool:
    """Whether a function runs because an observer was told something."""
    above: FrameType | None = frame.f_back
    while above is not None:
        code = above.f_code
        if (code.co_name, Path(code.co_filename).name) == NOTICE:
            return True
        above = above.f_back
    return False


def run(words: Sequence[str]) -> int:
    """Runs `minga` with `words` under the recording."""
    recording = Recording()
    signal.signal(signal.SIGUSR1, recording.begin)
    signal.signal(signal.SIGUSR2, recording.end)
    threading.setprofile(recording.heard)
    sys.setprofile(recording.heard)
    from backend.__main__ import main

    return main(words)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
