"""Reads the repository's files, from the working tree (tracked and new) or from a git revision."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CODE = (".py", ".ts", ".tsx", ".css", ".html", ".toml", ".json", ".sh")
SOURCE = (".py", ".ts", ".tsx")
# Files of sentences.
PROSE = (".html", ".md", ".po")


@dataclass(frozen=True)
class Tree:
    """Paths of all files, with `/`, the texts of those in Python and TypeScript, and those of sentences.

    `root` is the folder of a working tree, None for a revision.
    """

    paths: tuple[str, ...]
    texts: Mapping[str, str]
    prose: Mapping[str, str]
    root: Path | None = None


def git(root: Path, *arguments: str) -> bytes:
    """Returns git's output, for files of any owner. Raises CalledProcessError where it fails."""
    command = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def working_tree(root: Path) -> Tree:
    """Returns tracked files as they are on disk, and new files that are not ignored."""
    listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    paths = [name for name in listed.decode().split("\0") if name and (root / name).is_file()]
    texts, prose = (
        {path: (root / path).read_text("utf-8") for path in paths if path.endswith(suffixes)}
        for suffixes in (SOURCE, PROSE)
    )
    return Tree(tuple(sorted(paths)), texts, prose, root)


def revision(root: Path, name: str) -> Tree:
    """Returns the files of a commit, branch or tag."""
    texts: dict[str, str] = {}
    prose: dict[str, str] = {}
    paths: list[str] = []
    with tarfile.open(fileobj=io.BytesIO(git(root, "archive", "--format=tar", name))) as archive:
        for member in archive:
            if not member.isfile():
                continue
            paths.append(member.name)
            for suffixes, found in ((SOURCE, texts), (PROSE, prose)):
                if member.name.endswith(suffixes) and (file := archive.extractfile(member)) is not None:
                    found[member.name] = file.read().decode("utf-8")
    return Tree(tuple(sorted(paths)), texts, prose)
