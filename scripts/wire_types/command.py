"""Writes the web app's half of the wire from the messages in backend/wire.

Usage: python -m scripts.wire_types.command    (after a change of a message; a test says if it was forgotten)

Each module of messages becomes a file of checks in webapp/static/src/protocol/wire/generated, with the same
names, limits and descriptions. Fields with a default must be there all the same: the programs here always
send them.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from scripts.wire_types.module_writer import ModuleWriter
from scripts.wire_types.python_source import MODULES
from scripts.wire_types.typescript import kebab

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "webapp/static/src/protocol/wire/generated"


def files() -> dict[Path, str]:
    """Returns the generated files by their paths, formatted."""
    return {
        (path := FOLDER / f"{kebab(name)}.ts"): _formatted(path, ModuleWriter(name).file())
        for name in MODULES
    }


def main() -> None:
    """Writes the files."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in files().items():
        path.write_text(text, "utf-8")


def _formatted(path: Path, text: str) -> str:
    """Returns a file as Biome formats it."""
    command = ["npx", "--no-install", "biome", "format", f"--stdin-file-path={path.relative_to(ROOT)}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise RuntimeError(f"Biome refuses {path.name}: {done.stderr}")
    return re.sub(r"\n+\Z", "\n", done.stdout)


if __name__ == "__main__":
    main()
