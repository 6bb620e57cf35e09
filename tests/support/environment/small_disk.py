"""Small disks of their own for tests, where the system lets us make some."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.plugins.requirements import require


def mount(*words: str) -> None:
    """`mount ...`, which takes root. The test is skipped without mounts."""
    require("mounts")
    subprocess.run(["mount", *words], check=True)


def unmount(place: Path) -> None:
    """Ends the newest mount on `place`, in use or not."""
    subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A disk of `size` (`2m`) at `place`, in memory."""
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield place
    finally:
        unmount(place)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Nothing can be written under `place`: a folder, seen through a mount that is read-only."""
    mount("--bind", str(place), str(place))
    try:
        mount("-o", "remount,bind,ro", str(place))
        yield
    finally:
        unmount(place)
