"""Stands for a sandboxed process that a hostile file has taken over: it leaves what it likes."""

from __future__ import annotations

import sys
from pathlib import Path

_HEAD = """#!{python} -S
import json, os, pathlib, re, sys, time
words = sys.argv[1:]
# The folder of a data job stands in its JSON, that of the converter's programs after -o.
job = next((json.loads(pathlib.Path(word).read_text()) for word in words if word.endswith("job.json")), None)
made = pathlib.Path(job["folder"] if job else words[words.index("-o") + 1])
"""
_TAIL = """
print(json.dumps({"ok": True, "message": "All is well."}), flush=True)
"""


def taken_over(folder: Path, program: str) -> str:
    """Writes a program in place of the interpreter: it runs `program`, then says that all is well.

    `program` finds the folder of its results as `made`, and has no walls: what they let through does
    not matter to what the server does with the results.
    """
    path = folder / "python"
    path.write_text(_HEAD.format(python=sys.executable) + program + _TAIL, "utf-8")
    path.chmod(0o700)
    return str(path)
