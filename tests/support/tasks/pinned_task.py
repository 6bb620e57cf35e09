"""Has a tiny task require the same bits of all clients, with pins to a made-up or to the built web app."""

from __future__ import annotations

from pathlib import Path

from backend.formats.exact_program import ExactProgram, program_hash, read_exact_program
from backend.formats.pins import pin_bundle
from backend.settings import dist_folder

_FILES = {"main-00000000.js": "a" * 64}
MADE_UP = ExactProgram(program_hash(_FILES), _FILES)


def built_program() -> ExactProgram:
    """Returns the program of the built web app."""
    program = read_exact_program(dist_folder())
    assert program is not None, "the web app is not built"
    return program


def require_exact(folder: Path, pins: ExactProgram | None, bundle: str = "bundle") -> Path:
    """Sets `training.exact = "required"` in the task in `folder`, and pins its bundle at `bundle`."""
    file = folder / "task.toml"
    text = file.read_text("utf-8")
    line = 'exact = "required"'
    table = f"[training]\n{line}\n"
    text = text.replace("[training]\n", table) if "[training]\n" in text else f"{text}\n{table}"
    file.write_text(text, "utf-8")
    if pins is not None:
        pin_bundle(folder / bundle, pins)
    return folder
