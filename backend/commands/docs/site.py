"""Builds the pages of docs/ into webapp/docs/dist, which the server shows at /docs."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from backend.errors import SiteError

_STAMP = "sources.sha256"
_SOURCES = (
    "mkdocs.yml",
    "*.md",
    "docs/**/*",
    "backend/commands/docs/site_hooks.py",
    "backend/wire/*.md",
    "webapp/docs/theme/*",
    "webapp/static/src/ui/styles/**/*.css",
    "webapp/templates/logo.svg",
)


def build_site(root: Path, dist: Path, force: bool = False) -> str:
    """Builds the pages of the checkout `root`, replaces the folder `dist` as a whole, and returns a message.

    Raises SiteError if a page has a broken link or is missing from the index.
    """
    if not (root / "mkdocs.yml").is_file():
        return "as they came with the package."
    if find_spec("mkdocs") is None:
        return "skipped: MkDocs is not installed. Install it with pip install -e '.[docs]'."
    digest = source_hash(root)
    stamp = dist / _STAMP
    if not force and stamp.is_file() and stamp.read_text("utf-8") == digest:
        return "up to date."
    dist.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=dist.parent) as temporary:
        draft = Path(temporary) / "dist"
        _run_mkdocs(root, draft)
        (draft / _STAMP).write_text(digest, "utf-8")
        if dist.exists():
            dist.rename(Path(temporary) / "old")
        draft.rename(dist)
    return f"{sum(1 for _ in dist.rglob('*.html'))} pages."


def source_hash(root: Path) -> str:
    """Returns the SHA-256 of all sources of the pages with their names."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in _SOURCES for path in root.glob(pattern) if path.is_file()}):
        name = path.relative_to(root).as_posix()
        total.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _run_mkdocs(root: Path, output: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(output)]
    done = subprocess.run(  # noqa: S603 - MkDocs on our own pages, no shell
        command, cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode or not output.is_dir():
        raise SiteError(
            f"The documentation was not built. MkDocs says:\n{(done.stdout + done.stderr).strip()}"
        )
